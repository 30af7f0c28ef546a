import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { configurationReference } from '../../scripts/configuration-reference.ts'
import { root } from '../harness/settings.ts'

test('docs/configuration.md is what `npm run docs:configuration` makes', () => {
  const committed = readFileSync(join(root, 'docs/configuration.md'), 'utf8')
  expect(committed === configurationReference(), 'run `npm run docs:configuration` and commit the file').toBe(true)
})
