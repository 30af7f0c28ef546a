import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { root } from '../harness/settings.ts'
import { leads, linksOf, repositoryPathsOf } from './links.ts'
import { documentationFiles } from './shell-blocks.ts'

const files = documentationFiles()

test.each(files)('the links of %s lead to files and headings that exist', (file) => {
  const page = join(root, file)
  expect(linksOf(page).filter((link) => !leads(page, link))).toEqual([])
  expect(repositoryPathsOf(page).filter((path) => !existsSync(join(root, path)))).toEqual([])
})

/** npm adds these files to every package. */
const packed = [...manifest.files, 'README.md', 'LICENSE', 'package.json']

test.each(files)('the links of %s lead into the package, or to the repository by address', (file) => {
  const targets = linksOf(join(root, file))
    .filter((link) => !link.startsWith('#'))
    .map((link) => join(dirname(file), link.split('#')[0] ?? ''))
  const isPacked = (target: string) => packed.some((part) => target === part || target.startsWith(`${part}/`))
  expect(targets.filter((target) => !isPacked(target))).toEqual([])
})

function isPartOf(folder: string) {
  return (file: string) => file.startsWith(`docs/${folder}/`)
}

test.each([
  ['docs/decisions/README.md', files.filter(isPartOf('decisions'))],
  ['docs/README.md', files.filter((file) => file.startsWith('docs/') && !isPartOf('decisions')(file))],
])('%s links to every page', (map, pages) => {
  const targetOf = (link: string) => relative(root, join(root, dirname(map), link.split('#')[0] ?? ''))
  const linked = new Set(linksOf(join(root, map)).map(targetOf))
  expect(pages.length).toBeGreaterThan(20)
  expect(pages.filter((page) => page !== map && !linked.has(page))).toEqual([])
})

function lengthOf(file: string): number {
  return readFileSync(join(root, file), 'utf8').split('\n').length - 1
}

test('concepts have at most 100 lines, other written pages 150; generated ones and the appendix any number', () => {
  const isFree = (file: string) =>
    isPartOf('appendix')(file) || readFileSync(join(root, file), 'utf8').startsWith('<!-- Generated')
  const maxOf = (file: string) => (isPartOf('concepts')(file) ? 100 : 150)
  const pages = files.filter((file) => file === 'README.md' || (file.startsWith('docs/') && !isFree(file)))
  expect(pages.filter((file) => lengthOf(file) > maxOf(file))).toEqual([])
})

test('every concept has one picture', () => {
  const pages = files.filter(isPartOf('concepts'))
  expect(pages.length).toBeGreaterThan(7)
  const pictures = (file: string) => readFileSync(join(root, file), 'utf8').match(/^```mermaid$/gm)?.length
  expect(pages.filter((file) => pictures(file) !== 1)).toEqual([])
})
