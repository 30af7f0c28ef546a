import { expect, test } from 'vitest'
import { identitySettings } from '../../src/compose/identity.ts'
import { loadSettings } from '../harness/settings.ts'

function atScale(scale: string) {
  const { login, portals } = identitySettings(loadSettings({ PORTICO_RATE_LIMIT_SCALE: scale }))
  const { codeSends, forgot } = portals.SYSTEM
  return [login.failures.limit, codeSends.limit, forgot.limit]
}

/** Documented: ten failures, five codes, five links. */
test('identitySettings: PORTICO_RATE_LIMIT_SCALE also scales the limits that identity enforces', () => {
  expect(atScale('1')).toEqual([10, 5, 5])
  expect(atScale('100')).toEqual([1_000, 500, 500])
})
