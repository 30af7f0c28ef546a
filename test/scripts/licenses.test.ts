import { expect, test } from 'vitest'
import { rejectedLicenses } from '../../scripts/licenses.ts'

function lock(entry: object) {
  return { packages: { '': {}, 'node_modules/x': { version: '1.0.0', ...entry } } }
}

test.each([{ license: 'MIT' }, { license: 'GPL-3.0', dev: true }])('accepted: %j', (entry) => {
  expect(rejectedLicenses(lock(entry))).toEqual([])
})

test.each([
  [{ license: 'GPL-3.0' }, 'GPL-3.0'],
  [{ license: '(MIT AND GPL-3.0)' }, '(MIT AND GPL-3.0)'],
  [{}, 'no license'],
])('rejected: %j', (entry, reason) => {
  expect(rejectedLicenses(lock(entry))).toEqual([`node_modules/x 1.0.0: ${reason}`])
})

test('rejected: a development package whose files the build copies into the package', () => {
  const packages = { 'node_modules/swagger-ui-dist': { version: '9.0.0', license: 'GPL-3.0', dev: true } }
  expect(rejectedLicenses({ packages })).toEqual(['node_modules/swagger-ui-dist 9.0.0: GPL-3.0'])
})
