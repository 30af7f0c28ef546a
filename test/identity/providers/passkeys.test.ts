import { afterEach, beforeEach, expect, test } from 'vitest'
import { inTransaction } from '../../../src/database/index.ts'
import { createPasskeyEnrollment } from '../../../src/identity/index.ts'
import * as auth from '../../../src/identity/login/contract.ts'
import { setupOtp } from '../../../src/identity/mfa/contract.ts'
import { createPasskeyOptions, registerPasskey } from '../../../src/identity/passkeys/contract.ts'
import * as contract from '../../../src/identity/providers/contract.ts'
import { addMs, type Caller, type Operation, type Permission } from '../../../src/kernel/index.ts'
import { SoftwareAuthenticator } from '../../harness/authenticator.ts'
import { call, codeOf, createRequestContext, credential } from '../harness.ts'
import { type ProviderWorld, providerWorld, replyOf } from './world.ts'

/* `mfa.required.passkey` and sign-ins with a provider, whose administrators can sign in as every linked person. */

const system = { portal: 'SYSTEM' } as const
const origin = 'https://bank.example'
const all: Permission[] = ['withdrawal:approve', 'account:view']
const approve: Operation = {
  ...setupOtp,
  ...{
    id: 'withdrawals.approve',
    chains: ['system'],
    policy: { ...setupOtp.policy, permission: 'withdrawal:approve' },
  },
}
const view: Operation = { ...approve, id: 'accounts.note', policy: { ...approve.policy, permission: 'account:view' } }

let world: ProviderWorld
let device: SoftwareAuthenticator
let binding: 'purpose' | 'session' = 'purpose'
let passwordSignIn = false
async function open(passkey: 'all' | Permission[]) {
  world = await providerWorld(
    { stepUp: { acrValues: [], accepts: ['mfa'] }, passwordSignIn },
    ({ purposes }) => {
      purposes.findOperation = (id) => [approve, view, createPasskeyOptions, setupOtp].find((each) => each.id === id)
    },
    ({ mfa, portals }) => {
      portals.SYSTEM.passkeys = {
        ...{ rpId: 'bank.example', origins: [origin], userVerification: 'required', attestation: 'none' },
      }
      portals.SYSTEM.mfa.required = { passkey }
      mfa.binding = binding
    },
  )
}
beforeEach(() => {
  device = new SoftwareAuthenticator(origin)
  binding = 'purpose'
  passwordSignIn = false
})
afterEach(() => world.close())

const invoke = <O extends Operation>(operation: O, body: unknown, caller: Caller | null = null) =>
  call(world.at.identity, operation, createRequestContext(world.at.clock, system), body, caller)
const callerOf = (accessToken: string | undefined) =>
  world.at.identity.authentication.accessToken(credential(accessToken ?? '', system))
const held = ({ permissions, withheld = new Set() }: Caller) => [[...permissions], [...withheld]]

const permit = ({ accountId }: Caller, operatorPermissions: Permission[]) =>
  world.at.ports.database.updateTable('accounts').set({ operatorPermissions }).where('bizId', '=', accountId).execute()

/** An operator of the provider with permissions and a passkey. */
async function operator(): Promise<Caller> {
  const caller = await callerOf((await world.signIn()).completed?.accessToken)
  const { database } = world.at.ports
  await permit(caller, all)
  const by = { portal: 'SYSTEM', id: caller.accountId } as const
  const at = world.at.clock.now()
  const enrollmentToken = await inTransaction(database, (tx) =>
    createPasskeyEnrollment(world.at.ports, tx, by, { at, expiresAt: addMs(at, 60_000) }),
  )
  const options = await invoke(createPasskeyOptions, { enrollmentToken }, caller)
  await invoke(registerPasskey, { credential: device.create(options) }, caller)
  return caller
}

async function stepUpAtProvider(caller: Caller, purpose?: object) {
  const body = { providerId: 'company', ...(purpose && { purpose }) }
  const started = await invoke(contract.initiateProviderStepUp, body, caller)
  const reply = await world.provider.visit(started.authorizationUrl)
  return invoke(contract.stepUpAtProvider, replyOf({ sessionId: started.sessionId, reply }), caller)
}

async function enterByPasskey() {
  const passkey = device.get(await invoke(auth.createPasskeyRequest, {}))
  return invoke(auth.verifyPasskey, { credential: passkey })
}

test('auth.providerComplete: with a list, a sign-in with a trusted factor lacks the permissions that need a passkey', async () => {
  await open(['withdrawal:approve'])
  await operator()
  const { completed } = await world.signIn()
  expect(held(await callerOf(completed?.accessToken))).toEqual([['account:view'], ['withdrawal:approve']])
})

test('auth.providerComplete: with all, a passkey must follow a trusted factor, like a password', async () => {
  await open('all')
  await operator()
  const { completed, pending } = await world.signIn()
  expect([completed, pending?.mfaMethods.map(({ code }) => code)]).toEqual([null, ['PASSKEY']])
  const sessionId = pending?.sessionId
  const passkey = device.get(await invoke(auth.createPasskeyRequest, { sessionId }))
  const signedIn = await invoke(auth.completeLogin, { sessionId, mfaMethod: 'PASSKEY', passkey })
  expect(held(await callerOf(signedIn.accessToken))).toEqual([all, []])
})

test('auth.passkeyVerify 401: somebody who has left the provider does not enter by a passkey, unless allowed', async () => {
  await open([])
  await operator()
  expect(await codeOf(enterByPasskey())).toBe('AUTH.PASSKEY_INVALID')
  const [settings] = world.at.settings.portals.SYSTEM.providers
  Object.assign(settings ?? {}, { passwordSignIn: true })
  expect((await enterByPasskey()).accessToken).toEqual(expect.any(String))
})

test('auth.providerComplete: without a trusted factor, the passkey can follow the provider', async () => {
  await open([])
  await operator()
  world.provider.person = { ...world.provider.person, acr: 'pwd' }
  const { pending } = await world.signIn()
  const sessionId = pending?.sessionId
  const passkey = device.get(await invoke(auth.createPasskeyRequest, { sessionId }))
  const signedIn = await invoke(auth.completeLogin, { sessionId, mfaMethod: 'PASSKEY', passkey })
  expect(held(await callerOf(signedIn.accessToken))).toEqual([all, []])
})

test('providers.stepUp 403: a sign-in at the provider confirms no command that needs a passkey, and adds none', async () => {
  passwordSignIn = true
  await open(['withdrawal:approve'])
  await operator()
  const caller = await callerOf((await enterByPasskey()).accessToken)
  for (const { id: operationId } of [approve, createPasskeyOptions])
    expect(await codeOf(stepUpAtProvider(caller, { operationId }))).toBe('ACCESS.PASSKEY_REQUIRED')
  expect(await stepUpAtProvider(caller, { operationId: view.id })).toMatchObject({ success: true })
})

test('providers.stepUp 403: a permission that arrives after the start counts', async () => {
  await open(['withdrawal:approve'])
  const caller = await operator()
  await permit(caller, [])
  const purpose = { operationId: createPasskeyOptions.id }
  const started = await invoke(contract.initiateProviderStepUp, { providerId: 'company', purpose }, caller)
  const reply = await world.provider.visit(started.authorizationUrl)
  await permit(caller, all)
  const late = invoke(contract.stepUpAtProvider, replyOf({ sessionId: started.sessionId, reply }), caller)
  expect(await codeOf(late)).toBe('ACCESS.PASSKEY_REQUIRED')
})

test('providers.stepUp 403: bound to the session, it would confirm every command', async () => {
  binding = 'session'
  await open(['withdrawal:approve'])
  const caller = await operator()
  expect(await codeOf(stepUpAtProvider(caller))).toBe('ACCESS.PASSKEY_REQUIRED')
})
