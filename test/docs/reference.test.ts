import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { refusalTexts } from '../../scripts/reference/refusal-texts.ts'
import { generatedPages } from '../../scripts/reference.ts'
import { commands } from '../../src/cli/index.ts'
import { headers } from '../../src/contract/headers.ts'
import { codes } from '../../src/contract/index.ts'
import { root } from '../harness/settings.ts'

function page(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}
function rowsOf(text: string): string[] {
  return text.split('\n').filter((line) => line.startsWith('| `'))
}

test.each(Object.entries(generatedPages))('%s is what `npm run docs:reference` writes', (path, render) => {
  expect(page(path) === render(), 'run `npm run docs:reference` and commit the file').toBe(true)
})

test('every setting has a description', () => {
  const rows = rowsOf(page('docs/reference/configuration.md'))
  expect(rows.length).toBeGreaterThan(100)
  expect(rows.filter((row) => /\|\s+\|$/.test(row))).toEqual([])
})

test('every variable has a description', () => {
  const rows = rowsOf(page('docs/reference/environment.md'))
  expect(rows.length).toBeGreaterThan(10)
  expect(rows.filter((row) => /\|\s+\|$/.test(row))).toEqual([])
})

test('every refusal code has a cause and an action, and no unknown code has one', () => {
  expect(Object.keys(refusalTexts).sort(), 'edit scripts/reference/refusal-texts.ts').toEqual([...codes].sort())
  const texts = Object.values(refusalTexts).flatMap(({ cause, action }) => [cause, action])
  expect(texts.filter((text) => !/^[A-Z].*\.$/s.test(text))).toEqual([])
})

test('the refusal code page has a row per code, with status, message, cause and action', () => {
  const listed = rowsOf(page('docs/reference/refusal-codes.md')).map((row) => row.split(' | '))
  const rows = listed.filter(([code = '']) => /^\| `[A-Z_]+\.[A-Z_]+`$/.test(code))
  expect(rows.map(([code = '']) => code.slice(3, -1)).sort()).toEqual([...codes].sort())
  expect(rows.filter((cells) => cells.length !== 5 || cells.some((each) => each.trim() === ''))).toEqual([])
})

test('the header page names every header that the gateway reads', () => {
  const text = page('docs/reference/headers.md')
  expect(
    Object.values(headers)
      .map(({ name }) => name)
      .filter((name) => !text.includes(`\`${name}\``)),
  ).toEqual([])
})

test('the CLI pages have a section per command, with exactly its options', async () => {
  const sections = ['cli', 'cli-accounts'].flatMap((name) => page(`docs/reference/${name}.md`).split('\n## ').slice(1))
  const documented = sections.map((section) => ({
    name: section.slice(0, section.indexOf('\n')),
    options: [...new Set(section.match(/--[a-z]+(-[a-z\d]+)*/g))].sort(),
  }))
  const declared = await Promise.all(
    Object.values(commands).map(async (load) => {
      const { name, options } = await load()
      return {
        name,
        options: Object.keys(options)
          .map((option) => `--${option}`)
          .sort(),
      }
    }),
  )
  const byName = (one: { name: string }, other: { name: string }) => one.name.localeCompare(other.name)
  expect(documented.sort(byName)).toEqual(declared.sort(byName))
})

test('the glossary has at most 40 terms, in alphabetical order', () => {
  const terms = [...page('docs/reference/glossary.md').matchAll(/^\| (?!term|---)(.+?) \|/gm)].map(([, term = '']) =>
    term.replaceAll('`', '').toLowerCase(),
  )
  expect(terms.length).toBeGreaterThan(20)
  expect(terms.length).toBeLessThanOrEqual(40)
  expect(terms).toEqual([...terms].sort())
})
