import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { configurationReference } from '../../scripts/configuration-reference.ts'
import { root } from '../harness/settings.ts'

test('docs/configuration.md is what `npm run docs:configuration` makes', () => {
  const committed = readFileSync(join(root, 'docs/configuration.md'), 'utf8')
  expect(committed === configurationReference(), 'run `npm run docs:configuration` and commit the file').toBe(true)
})

test('every setting is explained', () => {
  const rows = configurationReference()
    .split('\n')
    .filter((line) => line.startsWith('| `'))
  expect(rows.length).toBeGreaterThan(100)
  expect(rows.filter((row) => /\|\s+\|$/.test(row))).toEqual([])
})
