import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../harness/settings.ts'

function read(file: string): string {
  return readFileSync(join(root, file), 'utf8')
}

function withoutIndent(text: string): string {
  return text.replaceAll(/^ +/gm, '')
}

const snippets = [...read('docs/guides/real-domain.md').matchAll(/^```ts\n\/\/ (\S+)\n(.*?)^```$/gms)].map(
  ([, file = '', code = '']) => ({ file, code, title: code.split('\n')[0] }),
)

// test/package/examples.test.ts runs the example and its tests.
test.each(snippets)('docs/guides/real-domain.md: $title is a part of the example', ({ file, code }) => {
  expect(withoutIndent(read(`examples/invoices/${file}`))).toContain(withoutIndent(code))
})

test('docs/guides/real-domain.md: every snippet names its file', () => {
  expect(snippets.length).toBeGreaterThan(6)
  expect(read('docs/guides/real-domain.md').match(/^```ts$/gm)).toHaveLength(snippets.length)
})
