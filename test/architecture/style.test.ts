import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { type Prose, proseOfLines, proseOfMarkdown, proseOfSource, sentenceLengths } from './prose.ts'
import { rejectedExpressions } from './style.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

function filesBelow(folder: string, name: RegExp): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && name.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length))
    .filter((path) => !path.includes('node_modules/'))
    .sort()
}

function read(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

// These files contain the rejected expressions.
const quotes = /^test\/architecture\/style(?:\.test)?\.ts$/

const sources = ['bin', 'src', 'test', 'scripts', 'docs', 'examples']
  .filter((folder) => readdirSync(root).includes(folder))
  .flatMap((folder) => filesBelow(folder, /\.(?:ts|js|mjs)$/))
  .filter((path) => !quotes.test(path))
  .flatMap((path) => proseOfSource(path, read(path)))
const topLevel = readdirSync(root).filter((name) => name.endsWith('.md'))
const pages = [...topLevel, ...filesBelow('docs', /\.md$/)].map((path) => proseOfMarkdown(path, read(path)))
const configured = [
  'Dockerfile',
  'compose.yaml',
  '.ci/run',
  ...['assets', 'config', 'src/banking']
    .flatMap((folder) => filesBelow(folder, /^(?!ja|vi|zh).*\.(?:yaml|txt|html)$/))
    .filter((path) => !/\/(?:ja|vi|zh)/.test(path)),
  ...filesBelow('deploy', /\.ya?ml$/),
  ...filesBelow('scripts', /\.sh$/),
].flatMap((path) => proseOfLines(path, read(path)))

function ninthDecile(texts: readonly Prose[]): number {
  const lengths = sentenceLengths(texts).sort((a, b) => a - b)
  return lengths[Math.floor(lengths.length * 0.9)] ?? 0
}

describe('English', () => {
  test('the sources, their comments and the test names use plain words', () => {
    expect(rejectedExpressions(sources)).toEqual([])
  })

  test('the documentation uses plain words', () => {
    expect(rejectedExpressions(pages.flat())).toEqual([])
  })

  test('the configuration, the locale and the mails use plain words', () => {
    expect(rejectedExpressions(configured)).toEqual([])
  })

  test('nine of ten sentences in the documentation have at most 25 words', () => {
    expect(ninthDecile(pages.flat())).toBeLessThanOrEqual(25)
  })

  test('each rejected expression is found', () => {
    const texts = [
      'Whoever asks is told to come again.',
      'A value that is no UUID.',
      'The store is opened anew.',
      'So many rows go at once.',
      'A folder of its own.',
    ].map((text) => ({ at: 'x:1', text }))
    expect(rejectedExpressions(texts).map((line) => line.slice(0, 3))).toEqual(expect.arrayContaining(['x:1']))
    for (const text of texts) expect(rejectedExpressions([text]), text.text).not.toEqual([])
    expect(rejectedExpressions([{ at: 'x:1', text: 'There is no longer a lock, and it is over HTTP.' }])).toEqual([])
  })

  test('comments, strings and paragraphs are read', () => {
    expect(proseOfSource('a.ts', "// One line.\n// And two.\nconst a = 'three words here'\n")).toEqual([
      { at: 'a.ts:1', text: 'One line. And two.' },
      { at: 'a.ts:3', text: 'three words here' },
    ])
    expect(proseOfMarkdown('a.md', '# Title\n\nOne\ntwo.\n\n```\ncode\n```\n- item\n')).toEqual([
      { at: 'a.md:1', text: 'Title' },
      { at: 'a.md:3', text: 'One two.' },
      { at: 'a.md:9', text: 'item' },
    ])
  })
})
