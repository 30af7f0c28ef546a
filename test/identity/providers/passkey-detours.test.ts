import { afterAll, beforeAll, expect, test } from 'vitest'
import { inTransaction, run } from '../../../src/database/index.ts'
import { createPasskeyEnrollment } from '../../../src/identity/index.ts'
import * as auth from '../../../src/identity/login/contract.ts'
import { createPasskeyOptions, registerPasskey } from '../../../src/identity/passkeys/contract.ts'
import * as contract from '../../../src/identity/providers/contract.ts'
import { passkeysOf } from '../../../src/identity/webauthn/store.ts'
import { addMs, type Caller, type Operation, type Permission } from '../../../src/kernel/index.ts'
import { SoftwareAuthenticator } from '../../harness/authenticator.ts'
import type { Browser } from '../../harness/provider.ts'
import { call, codeOf, createRequestContext, credential } from '../harness.ts'
import { type ProviderWorld, personOf, providerWorld, replyOf } from './world.ts'

/* Whether an identity provider, whose sign-in a phisher may have, gets round `mfa.required.passkey`. */

const system = { portal: 'SYSTEM' } as const
const origin = 'https://bank.example'
const approve: Operation = {
  ...createPasskeyOptions,
  id: 'withdrawals.approve',
  policy: { ...createPasskeyOptions.policy, permission: 'withdrawal:approve' },
}

let world: ProviderWorld
let browser: Browser
const device = new SoftwareAuthenticator(origin)
beforeAll(async () => {
  world = await providerWorld(
    { passwordSignIn: true, stepUp: { acrValues: ['mfa'], accepts: ['mfa'] } },
    ({ purposes }) => {
      purposes.findOperation = (id) => [approve, createPasskeyOptions].find((each) => each.id === id)
    },
    ({ portals: { SYSTEM } }) => {
      SYSTEM.passkeys = { rpId: 'bank.example', origins: [origin], userVerification: 'required', attestation: 'none' }
      SYSTEM.mfa.required = { passkey: ['withdrawal:approve'] }
    },
  )
  world.provider.person = personOf('operator@company.test')
  browser = new Map()
})
afterAll(() => world.close())

function invoke<O extends Operation>(operation: O, body: unknown, caller: Caller | null) {
  return call(world.at.identity, operation, createRequestContext(world.at.clock, system), body, caller)
}

const callerOf = (accessToken: string) => world.at.identity.authentication.accessToken(credential(accessToken, system))

async function stepUp(caller: Caller, operationId: string) {
  const body = { providerId: 'company', purpose: { operationId } }
  const started = await invoke(contract.initiateProviderStepUp, body, caller)
  const reply = await world.provider.visit(started.authorizationUrl, browser)
  return invoke(contract.stepUpAtProvider, replyOf({ ...started, reply }), caller)
}

test('providers.stepUp 403: the provider confirms nothing that needs a passkey, nor a further passkey', async () => {
  const { completed } = await world.signIn({ browser })
  const first = await callerOf(completed?.accessToken ?? '')
  const { database } = world.at.ports
  const granted: Permission[] = ['withdrawal:approve']
  const accounts = database.updateTable('accounts')
  await accounts.set({ operatorPermissions: granted }).where('bizId', '=', first.accountId).execute()
  const enrollmentToken = await inTransaction(database, (tx) => {
    const at = world.at.clock.now()
    const owner = { portal: 'SYSTEM', id: first.accountId } as const
    return createPasskeyEnrollment(world.at.ports, tx, owner, { at, expiresAt: addMs(at, 60_000) })
  })
  expect(await stepUp(first, createPasskeyOptions.id)).toMatchObject({ success: true })
  const options = await invoke(createPasskeyOptions, { enrollmentToken }, first)
  await invoke(registerPasskey, { credential: device.create(options) }, first)
  const request = await invoke(auth.createPasskeyRequest, {}, null)
  const entered = await invoke(auth.verifyPasskey, { credential: device.get(request) }, null)
  const byPasskey = await callerOf(entered.accessToken)
  for (const caller of [first, byPasskey])
    expect(await codeOf(stepUp(caller, createPasskeyOptions.id))).toBe('ACCESS.PASSKEY_REQUIRED')
  expect(await codeOf(stepUp(byPasskey, approve.id))).toBe('ACCESS.PASSKEY_REQUIRED')
  expect(await run(database, passkeysOf({ portal: 'SYSTEM', id: first.accountId }))).toHaveLength(1)
})
