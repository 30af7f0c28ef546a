import { globSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { leads, linksOf } from '../docs/links.ts'

test('every link of the packed pages leads to a file and a heading of the package', () => {
  const folder = join(inject('package').production, 'node_modules/portico')
  const pages = globSync('{*.md,{docs,examples,dist}/**/*.md}', { cwd: folder })
  expect(pages.length).toBeGreaterThan(80)
  const links = pages.flatMap((page) => linksOf(join(folder, page)).map((link) => ({ page, link })))
  expect(links.filter(({ page, link }) => !leads(join(folder, page), link))).toEqual([])
})
