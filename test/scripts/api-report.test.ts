import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { apiReport } from '../../scripts/api-report.ts'
import { root } from '../harness/settings.ts'

test('docs/reference/public-api.md is what `npm run api:report` writes', { timeout: 60_000 }, () => {
  expect(readFileSync(join(root, 'docs/reference/public-api.md'), 'utf8')).toBe(apiReport())
})
