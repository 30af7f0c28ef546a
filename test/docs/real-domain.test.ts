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

/** Snippets that begin with the name of a file of the example. */
function snippetsOf(guide: string, example: string) {
  return [...read(guide).matchAll(/^```ts\n\/\/ (\S+)\n(.*?)^```$/gms)].map(([, file = '', code = '']) => ({
    ...{ guide, file: `examples/${example}/${file}`, code, title: code.split('\n')[0] },
  }))
}

const snippets = snippetsOf('docs/guides/real-domain.md', 'invoices')
const ofOrders = snippetsOf('docs/guides/order-life-cycle.md', 'deposits')

// test/package/examples.test.ts runs the example and its tests.
test.each([...snippets, ...ofOrders])('$guide: $title is a part of the example', ({ file, code }) => {
  expect(withoutIndent(read(file))).toContain(withoutIndent(code))
})

test('docs/guides/order-life-cycle.md: every snippet names its file', () => {
  expect(ofOrders).toHaveLength(4)
  expect(read('docs/guides/order-life-cycle.md').match(/^```ts$/gm)).toHaveLength(4)
})

test('docs/guides/real-domain.md: every snippet names its file', () => {
  expect(snippets.length).toBeGreaterThan(6)
  expect(read('docs/guides/real-domain.md').match(/^```ts$/gm)).toHaveLength(snippets.length)
})
