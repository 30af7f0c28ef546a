import { describe, expect, test } from 'vitest'
import { assertPasswordAllowed } from '../../../src/identity/passwords/policy.ts'
import { noBreachCheck } from '../../../src/platform/breached-passwords.ts'
import { codeOf, defaultSettings } from '../harness.ts'

describe('password policy', () => {
  const ports = { breachedPasswords: noBreachCheck, settings: defaultSettings() }
  const owner = { email: 'nora.newcomer@people.test', name: 'Nora Newcomer' }

  test.each([
    ['seven characters', 'q7!Kd9z'],
    ['257 characters', `${'vQ9~'.repeat(64)}x`],
    ['a common password', 'iloveyou'],
    ['a common password with substitutions', 'Passw0rd!'],
    ['a keyboard row', 'qwertyuiop'],
    ['a season and a year', 'Summer2026'],
    ['one repeated character', 'zzzzzzzzzzzzzzzz'],
    ['the e-mail address', 'nora.newcomer@people.test'],
    ['the name, twice', 'NoraNewcomerNora'],
    ['the product’s name', 'Portico-Portico-1'],
    ['a character that NFKC expands', '\ufdfa'.repeat(20)],
  ])('rejects %s', async (_, password) => {
    expect(await codeOf(assertPasswordAllowed(ports, password, owner))).toBe('VALIDATION.INVALID_PARAMETER')
  })

  test.each([
    ['a passphrase without capitals, digits and symbols', 'correct horse battery staple'],
    ['eight random characters', '7fK!q2Lm'],
    ['256 characters', 'vQ9~tangerine-lamp'.repeat(15).slice(0, 256)],
    ['another script', '夜明け前のコーヒーは苦い'],
  ])('accepts %s', async (_, password) => {
    await expect(assertPasswordAllowed(ports, password, owner)).resolves.toBeUndefined()
  })
})
