import { expect, test } from 'vitest'
import { requiredPasskeyErrors } from '../../src/config/index.ts'
import { operatorPermissions, workspacePermissions } from '../../src/contract/index.ts'
import { testSettings } from '../harness/settings.ts'
import { configurationFile } from './configuration-file.ts'

const { errorsOf } = configurationFile()
const passkeys = {
  rpId: 'localhost',
  origins: ['http://localhost:8080'],
  userVerification: 'required',
  attestation: 'none',
}

function errorsWith(passkey: unknown, portal: 'CONSUMER' | 'SYSTEM', more: object = { passkeys }): string[] {
  return errorsOf({ portals: { [portal]: { mfa: { required: { passkey } }, ...more } } })
}

test.each(['CONSUMER', 'SYSTEM'] as const)('portals.%s.mfa.required.passkey: needs passkeys', (portal) => {
  const missing = [`portals.${portal}.mfa.required.passkey: needs portals.${portal}.passkeys`]
  expect(errorsWith('all', portal, {})).toEqual(missing)
  expect(errorsWith(['wallet:read'], portal, {})).toEqual(missing)
  expect(errorsWith('none', portal, {})).toEqual([])
  expect(errorsWith('all', portal)).toEqual([])
})

test.each(['CONSUMER', 'SYSTEM'] as const)('portals.%s.mfa.required.passkey: none, all or a list', (portal) => {
  for (const value of ['some', [], ['wallet:read', 1]])
    expect(errorsWith(value, portal).join()).toContain(`portals.${portal}.mfa.required.passkey`)
})

test.each([
  ['CONSUMER', 'workspace roles', workspacePermissions, operatorPermissions],
  ['SYSTEM', 'operators', operatorPermissions, workspacePermissions],
] as const)('portals.%s.mfa.required.passkey: only permissions of %s', (portal, owners, known, others) => {
  const errors = (passkey: string[]) => {
    const settings = testSettings({}, ({ portals }) => {
      portals[portal].mfa.required = { passkey }
    })
    return requiredPasskeyErrors(settings, { workspacePermissions, operatorPermissions })
  }
  expect(errors([...known])).toEqual([])
  const unknown = [...others.filter((code) => !known.includes(code)), 'wallet:transfers']
  expect(unknown.length).toBeGreaterThan(5)
  expect(errors([...known, ...unknown])).toEqual(
    unknown.map(
      (code) => `portals.${portal}.mfa.required.passkey: no permission of ${owners} has the code ${code}; correct it`,
    ),
  )
})
