import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../harness/settings.ts'
import { documentationFiles } from './shell-blocks.ts'

const files = documentationFiles()

/** Brackets and hashes in fenced blocks are neither links nor headings. */
const proseOf = (page: string): string => readFileSync(page, 'utf8').replaceAll(/^ *```.*?^ *```$/gms, '')

/** As GitHub creates them: a repeated heading gets a number. */
const anchorsOf = (page: string): string[] => {
  const counts = new Map<string, number>()
  return [...proseOf(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => {
    const anchor = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-')
    const count = counts.get(anchor) ?? 0
    counts.set(anchor, count + 1)
    return count === 0 ? anchor : `${anchor}-${count}`
  })
}

const linksOf = (page: string): string[] =>
  [...proseOf(page).matchAll(/\]\((?!https?:)([^)]+)/g)].map(([, link = '']) => link)

/** The file must exist, and so must the heading if the link names one. */
const leads = (page: string, link: string): boolean => {
  const [path = '', anchor] = link.split('#')
  const target = path === '' ? page : join(dirname(page), path)
  return existsSync(target) && (anchor === undefined || anchorsOf(target).includes(anchor))
}

test.each(files)('the links of %s lead to files and headings that exist', (file) => {
  const page = join(root, file)
  expect(linksOf(page).filter((link) => !leads(page, link))).toEqual([])
})

const isPartOf = (folder: string) => (file: string) => file.startsWith(`docs/${folder}/`)

test.each([
  ['docs/decisions/README.md', files.filter(isPartOf('decisions'))],
  ['docs/README.md', files.filter((file) => file.startsWith('docs/') && !isPartOf('decisions')(file))],
])('%s links to every page', (map, pages) => {
  const targetOf = (link: string) => relative(root, join(root, dirname(map), link.split('#')[0] ?? ''))
  const linked = new Set(linksOf(join(root, map)).map(targetOf))
  expect(pages.length).toBeGreaterThan(20)
  expect(pages.filter((page) => page !== map && !linked.has(page))).toEqual([])
})

const lengthOf = (file: string): number => readFileSync(join(root, file), 'utf8').split('\n').length - 1

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
