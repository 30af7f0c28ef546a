import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../harness/settings.ts'
import { documentationFiles } from './shell-blocks.ts'

const decisions = readdirSync(join(root, 'docs/decisions')).map((name) => `docs/decisions/${name}`)

/** The names by which a page's headings are linked to, as GitHub makes them. */
const anchorsOf = (page: string): string[] =>
  [...readFileSync(page, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  )

/** Whether a link of `page` leads to a file that is there, and to a heading of it where it names one. */
const leads = (page: string, link: string): boolean => {
  const [path = '', anchor] = link.split('#')
  const target = path === '' ? page : join(dirname(page), path)
  return existsSync(target) && (anchor === undefined || anchorsOf(target).includes(anchor))
}

test.each([...documentationFiles(), ...decisions])(
  'the links of %s lead to files and headings that are there',
  (file) => {
    const page = join(root, file)
    const links = [...readFileSync(page, 'utf8').matchAll(/\]\((?!https?:)([^)]+)/g)].map(([, link = '']) => link)
    expect(links.filter((link) => !leads(page, link))).toEqual([])
  },
)
