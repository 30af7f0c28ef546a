import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../harness/settings.ts'
import { documentationFiles } from './shell-blocks.ts'

test.each(documentationFiles())('the links of %s lead to files that are there', (file) => {
  const text = readFileSync(join(root, file), 'utf8')
  const links = [...text.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, link = '']) => link)
  expect(links.filter((link) => !existsSync(join(root, dirname(file), link)))).toEqual([])
})
