import { createECDH, createPrivateKey } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startWithPasskey } from '../../../src/identity/browser-sessions/contract.ts'
import * as auth from '../../../src/identity/login/contract.ts'
import { createStepUpPasskeyOptions } from '../../../src/identity/mfa/contract.ts'
import { createPasskeyOptions, listPasskeys, registerPasskey } from '../../../src/identity/passkeys/contract.ts'
import type { AssertionCredential } from '../../../src/identity/webauthn/contract.ts'
import { type Ceremony, SoftwareAuthenticator } from '../../harness/authenticator.ts'
import { codeOf, initiate, jobRunner, refusalOf, runJobs } from '../harness.ts'
import { origin, type PasskeyWorld, type Person, passkeyWorld, rpId } from './world.ts'

let world: PasskeyWorld
let person: Person
beforeAll(async () => {
  world = await passkeyWorld()
  person = await world.person()
  await world.register(person)
})
afterAll(() => world.at.close())

const verify = (credential: AssertionCredential, more: object = {}) =>
  world.run(auth.verifyPasskey, { credential }, more)
const refused = async (credential: AssertionCredential, more: object = {}) => {
  const { code, detail } = await refusalOf(verify(credential, more))
  return [code, detail.internal]
}
const invalid = (internal: string) => ['AUTH.PASSKEY_INVALID', expect.stringContaining(internal)]

describe('auth.passkeyVerify 401', () => {
  const wrong: [name: string, how: Ceremony, internal: string][] = [
    ['another origin', { origin: 'https://evil.example' }, 'origin'],
    ['the origin of a subdomain', { origin: 'https://www.bank.example' }, 'origin'],
    ['another rp id', { rpId: 'evil.example' }, 'RP ID'],
    ['a frame of another origin', { crossOrigin: true }, 'frame'],
    ['a registration in place of a sign-in', { type: 'webauthn.create' }, 'webauthn.create'],
    ['an absent user', { userPresent: false }, 'User not present'],
    ['an unverified user', { userVerified: false }, 'User verification'],
    ['the handle of another account', { userHandle: 'AZOzbnwaeg6PNUwtH1uaEA' }, 'user handle'],
    ['no user handle', { userHandle: null }, 'user handle'],
    ['a challenge that nobody created', { challenge: Buffer.alloc(32, 7).toString('base64url') }, 'challenge'],
    ['a passkey that becomes synchronized', { backupEligible: true }, 'backup eligibility'],
    ['a backup of a passkey that cannot have one', { backedUp: true }, 'backed up'],
  ]
  test.each(wrong)('%s', async (_, how, internal) => {
    expect(await refused(person.device.get(await world.options(), how))).toEqual(invalid(internal))
  })

  test('another spelling of the challenge', async () => {
    const options = await world.options()
    const challenge = `${options.challenge.slice(0, -1)}${next(options.challenge.at(-1) ?? '')}`
    expect(Buffer.from(challenge, 'base64url')).toEqual(Buffer.from(options.challenge, 'base64url'))
    expect(await refused(person.device.get(options, { challenge }))).toEqual(invalid('challenge'))
  })

  test('a tampered signature, client data or authenticator data', async () => {
    for (const part of ['signature', 'clientDataJSON', 'authenticatorData'] as const) {
      const credential = person.device.get(await world.options())
      const bytes = Buffer.from(credential.response[part], 'base64url')
      // The last byte: of s, of the closing brace's successor, of the counter.
      if (part === 'clientDataJSON')
        credential.response[part] = Buffer.concat([bytes, Buffer.from(' ')]).toString('base64url')
      else {
        bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1
        credential.response[part] = bytes.toString('base64url')
      }
      expect(await refused(credential), part).toEqual(invalid('signature is wrong'))
    }
  })

  test('client data that is not JSON', async () => {
    for (const text of ['', '[]', 'null', '{"challenge":7}', '\u0000', '{"challenge":"*"}']) {
      const credential = person.device.get(await world.options())
      credential.response.clientDataJSON = Buffer.from(text || ' ').toString('base64url')
      expect((await refused(credential))[0], text).toBe('AUTH.PASSKEY_INVALID')
    }
  })

  test('a credential of another account, another portal, or nobody', async () => {
    const operator = await world.person({ portal: 'SYSTEM' })
    await world.register(operator)
    expect(await refused(operator.device.get(await world.options()))).toEqual(invalid('unknown'))
    const stranger = new SoftwareAuthenticator(origin)
    const registered = await world.run(createPasskeyOptions, {}, person)
    stranger.create(registered)
    expect(await refused(stranger.get(await world.options()))).toEqual(invalid('unknown'))
    // A signature with the key that stands in for unknown credentials.
    expect(await refused(signedByDummy(await world.options()))).toEqual(invalid('unknown'))
  })

  test('a challenge of a step-up, a registration, another portal or another client', async () => {
    const { challenge } = await world.run(createStepUpPasskeyOptions, { purpose: undefined }, person)
    const registration = await world.run(createPasskeyOptions, {}, person)
    const system = await world.options({ portal: 'SYSTEM' })
    const options = await world.options()
    for (const other of [challenge, registration.challenge, system.challenge])
      expect(await refused(person.device.get(options, { challenge: other }))).toEqual(invalid('challenge'))
    const credential = person.device.get(options)
    expect(await refused(credential, { clientHash: 'client-two' })).toEqual(invalid('challenge'))
    await verify(credential)
  })

  test('a challenge of a pending sign-in, whose password belongs to it', async () => {
    const { sessionId } = await initiate(world.at, person.email)
    const options = await world.run(auth.createPasskeyRequest, { sessionId })
    expect(await refused(person.device.get(options))).toEqual(invalid('challenge'))
    const credential = person.device.get(await world.options())
    const body = { sessionId, mfaMethod: 'PASSKEY', passkey: credential }
    expect(await codeOf(world.run(auth.completeLogin, body))).toBe('AUTH.PASSKEY_INVALID')
    const another = await initiate(world.at, person.email)
    const passkey = person.device.get(options)
    const ofAnother = { sessionId: another.sessionId, mfaMethod: 'PASSKEY', passkey }
    expect(await codeOf(world.run(auth.completeLogin, ofAnother))).toBe('AUTH.PASSKEY_INVALID')
  })

  test('the passkey of somebody else after a password', async () => {
    const other = await world.person()
    await world.register(other)
    const { sessionId } = await initiate(world.at, person.email)
    const options = await world.run(auth.createPasskeyRequest, { sessionId })
    const passkey = other.device.get({ ...options, allowCredentials: [] })
    const body = { sessionId, mfaMethod: 'PASSKEY', passkey }
    expect((await refusalOf(world.run(auth.completeLogin, body))).detail.internal).toContain('another account')
  })

  test('an expired challenge', async () => {
    const options = await world.options()
    world.at.clock.advance(5 * 60_000)
    expect(await refused(person.device.get(options))).toEqual(invalid('challenge'))
  })

  test('an account that is not active', async () => {
    const suspended = await world.person()
    await world.register(suspended)
    const setStatus = (accountStatus: 'SUSPENDED' | 'PENDING_APPROVAL') =>
      world.at.ports.database.updateTable('accounts').set({ accountStatus }).where('bizId', '=', suspended.id).execute()
    await setStatus('SUSPENDED')
    expect(await refused(suspended.device.get(await world.options()))).toEqual(invalid('not active'))
    await setStatus('PENDING_APPROVAL')
    expect((await refused(suspended.device.get(await world.options())))[0]).toBe('AUTH.PENDING_APPROVAL')
  })
})

describe('a refused sign-in', () => {
  test('auth.passkeyVerify 401: unknown and known credentials run the same statements', async () => {
    const stranger = new SoftwareAuthenticator(origin)
    stranger.create(await world.run(createPasskeyOptions, {}, person))
    const known = person.device.get(await world.options(), { userHandle: 'AZOzbnwaeg6PNUwtH1uaEA' })
    const unknown = stranger.get(await world.options())
    const statementsOf = (credential: AssertionCredential) =>
      world.statementsOf(async () => expect((await refused(credential))[0]).toBe('AUTH.PASSKEY_INVALID'))
    const ofKnown = await statementsOf(known)
    expect(ofKnown.length).toBeGreaterThan(3)
    expect(await statementsOf(unknown)).toEqual(ofKnown)
  })

  test('auth.passkeyVerify 401: is in the login history of the owner', async () => {
    const owner = await world.person()
    await world.register(owner)
    expect((await refused(owner.device.get(await world.options(), { userVerified: false })))[0]).toBe(
      'AUTH.PASSKEY_INVALID',
    )
    const rows = await world.at.ports.database
      .selectFrom('login_history')
      .select('failureReason')
      .where('accountBizId', '=', owner.id)
      .where('loginResult', '=', 0)
      .execute()
    expect(rows).toEqual([{ failureReason: 'PASSKEY_INVALID' }])
  })

  test('auth.passkeyVerify 403: an address that the whitelist does not contain', async () => {
    const owner = await world.person()
    await world.register(owner)
    const { database } = world.at.ports
    await database.updateTable('accounts').set({ ipWhitelistEnabled: true }).where('bizId', '=', owner.id).execute()
    expect((await refused(owner.device.get(await world.options())))[0]).toBe('ACCESS.IP_NOT_ALLOWED')
  })
})

describe('a copied passkey', () => {
  test('auth.passkeyVerify 401: the sessions that were started with a passkey end, the thief’s as well', async () => {
    const owner = await world.person()
    await world.register(owner)
    const thief = { ...owner, device: owner.device.copy() }
    const { accessToken: stolen } = await world.enter(thief)
    await world.enter(thief)
    world.at.clock.advance(1_000)
    expect(await codeOf(world.enter(owner))).toBe('AUTH.PASSKEY_INVALID')
    expect(await codeOf((async () => world.callerOf({ accessToken: stolen }))())).toBe('ACCESS.TOKEN_INVALID')
    expect(await world.run(listPasskeys, null, owner)).toMatchObject([{ suspendedAt: expect.any(String) }])
    const { portal, caller } = owner
    const open = world.at.ports.database.selectFrom('sessions').select('bizId').where('endedAt', 'is', null)
    const sessions = await open.where('portal', '=', portal).where('accountBizId', '=', owner.id).execute()
    expect(sessions).toEqual([{ bizId: caller.sessionId }])
  })

  test('auth.passkeyVerify 401: a counter that went back suspends the passkey and informs the owner', async () => {
    const owner = await world.person()
    await world.register(owner)
    const thief = owner.device.copy()
    await world.enter(owner)
    await world.enter(owner)
    world.at.clock.advance(1_000)
    const { code, detail } = await refusalOf(world.enter({ ...owner, device: thief }))
    expect([code, detail.internal]).toEqual(invalid('the counter went from 3 to 2'))
    expect(await world.run(listPasskeys, null, owner)).toMatchObject([{ suspendedAt: expect.any(String) }])
    // The original is refused, too.
    expect(await codeOf(world.enter(owner))).toBe('AUTH.PASSKEY_INVALID')
    await runJobs(world.at, jobRunner(world.at))
    expect(world.at.outbox.list().find(({ to }) => to === owner.email)?.text).toContain('a copy of it')
    const entries = await world.at.ports.database
      .selectFrom('audit_log')
      .select('detail')
      .where('actorBizId', '=', owner.id)
      .where('action', '=', 'auth.passkeyVerify')
      .execute()
    expect(entries.map(({ detail }) => detail)).toContainEqual(expect.objectContaining({ reason: 'PASSKEY_COPIED' }))
  })

  test('auth.passkeyVerify 401: nobody can suspend a passkey without its key', async () => {
    const owner = await world.person()
    await world.register(owner)
    await world.enter(owner)
    world.at.clock.advance(1_000)
    const credential = owner.device.get(await world.options(), { counter: 0 })
    credential.response.signature = Buffer.from('3006020101020101', 'hex').toString('base64url')
    expect((await refused(credential))[0]).toBe('AUTH.PASSKEY_INVALID')
    expect(await world.run(listPasskeys, null, owner)).toMatchObject([{ suspendedAt: null }])
    await world.enter(owner)
  })

  test('auth.passkeyVerify 401: an assertion that arrives late does not suspend the passkey', async () => {
    const owner = await world.person()
    await world.register(owner)
    const late = owner.device.get(await world.options())
    world.at.clock.advance(1_000)
    await world.enter(owner)
    expect(await refused(late)).toEqual(invalid('the counter'))
    expect(await world.run(listPasskeys, null, owner)).toMatchObject([{ suspendedAt: null }])
  })

  test('auth.passkeyVerify 200: a synchronized passkey does not count', async () => {
    const owner = await world.person()
    owner.device = new SoftwareAuthenticator(origin, { counts: false })
    const synchronized = { backupEligible: true, backedUp: true }
    expect(await world.register(owner, synchronized)).toMatchObject({ deviceType: 'MULTI_DEVICE', backedUp: true })
    for (let count = 0; count < 3; count++) {
      world.at.clock.advance(1_000)
      await world.enter(owner, { backupEligible: true, backedUp: count > 1 })
    }
  })
})

describe('races', () => {
  test('auth.passkeyVerify 200: of parallel uses of one challenge, exactly one wins', async () => {
    const owner = await world.person()
    await world.register(owner)
    for (let round = 0; round < 5; round++) {
      world.at.clock.advance(1_000)
      const credential = owner.device.get(await world.options())
      const results = await Promise.allSettled([
        verify(credential),
        verify(credential),
        verify(credential),
        world.run(startWithPasskey, { credential }),
      ])
      expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    }
    expect(await world.run(listPasskeys, null, owner)).toMatchObject([{ suspendedAt: null }])
  })

  test('passkeys.register 200: of parallel registrations with one challenge, exactly one wins', async () => {
    const owner = await world.person()
    const options = await world.run(createPasskeyOptions, {}, owner)
    const results = await Promise.allSettled(
      [1, 2, 3].map(() => world.run(registerPasskey, { credential: owner.device.create(options) }, owner)),
    )
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(await world.run(listPasskeys, null, owner)).toHaveLength(1)
  })
})

/** The same bits, with other padding bits in the last character. */
function next(character: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  return alphabet[alphabet.indexOf(character) ^ 1] ?? ''
}

/** Its private key is 1. */
function signedByDummy(options: Awaited<ReturnType<PasskeyWorld['options']>>): AssertionCredential {
  const device = new SoftwareAuthenticator(origin)
  const ecdh = createECDH('prime256v1')
  const one = Buffer.concat([Buffer.alloc(31), Buffer.of(1)])
  ecdh.setPrivateKey(one)
  const point = ecdh.getPublicKey()
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url')
  const [x, y, d] = [text(point.subarray(1, 33)), text(point.subarray(33)), text(one)]
  const privateKey = createPrivateKey({ format: 'jwk', key: { kty: 'EC', crv: 'P-256', x, y, d } })
  device.keys.push({ id: 'dW5rbm93bg', rpId, userHandle: 'AA', counter: 1, privateKey })
  return device.get(options)
}
