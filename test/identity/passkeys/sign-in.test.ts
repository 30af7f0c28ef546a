import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as auth from '../../../src/identity/login/contract.ts'
import { listMfaMethods } from '../../../src/identity/mfa/contract.ts'
import { listPasskeys } from '../../../src/identity/passkeys/contract.ts'
import { codeOf, initiate, refusalOf } from '../harness.ts'
import { type PasskeyWorld, passkeyWorld } from './world.ts'

let world: PasskeyWorld
beforeAll(async () => {
  world = await passkeyWorld()
})
afterAll(() => world.at.close())

describe('a sign-in without a name', () => {
  test('auth.passkeyVerify 200: a discoverable passkey yields tokens', async () => {
    const person = await world.person()
    const registered = await world.register(person)
    expect(registered).toMatchObject({
      name: 'Passkey',
      deviceType: 'SINGLE_DEVICE',
      backedUp: false,
      lastUsedAt: null,
    })
    const started = await world.enter(person)
    expect(started).toMatchObject({ tokenType: 'Bearer', isNewDevice: false })
    expect((await world.callerOf(started)).accountId).toBe(person.id)
    expect(await world.run(listPasskeys, null, person)).toMatchObject([{ lastUsedAt: expect.any(String) }])
  })

  test('auth.loginComplete 200: a passkey is the second factor after a password', async () => {
    const person = await world.person()
    await world.register(person)
    const { sessionId, mfaMethods } = await initiate(world.at, person.email)
    expect(mfaMethods.map(({ code }) => code)).toEqual(['EMAIL', 'PASSKEY'])
    const options = await world.run(auth.createPasskeyRequest, { sessionId })
    expect(options.allowCredentials).toHaveLength(1)
    const passkey = person.device.get(options)
    const completed = await world.run(auth.completeLogin, { sessionId, mfaMethod: 'PASSKEY', passkey })
    expect((await world.callerOf(completed)).accountId).toBe(person.id)
    expect(await world.run(listMfaMethods, null, person)).toMatchObject([
      { mfaMethod: { code: 'EMAIL' }, isEnabled: true, isPrimary: false },
      { mfaMethod: { code: 'OTP' }, isEnabled: false },
      { mfaMethod: { code: 'BACKUP_CODE' }, isEnabled: false },
      { mfaMethod: { code: 'PASSKEY' }, isEnabled: true, isPrimary: true },
    ])
  })

  test('auth.passkeyVerify 401: a replayed assertion', async () => {
    const person = await world.person()
    await world.register(person)
    const credential = person.device.get(await world.options())
    await world.run(auth.verifyPasskey, { credential })
    const refused = await refusalOf(world.run(auth.verifyPasskey, { credential }))
    expect(refused).toMatchObject({
      code: 'AUTH.PASSKEY_INVALID',
      detail: { internal: expect.stringContaining('challenge') },
    })
  })

  test('auth.loginComplete 400: both a code and a passkey, or the wrong one', async () => {
    const person = await world.person()
    await world.register(person)
    const { sessionId } = await initiate(world.at, person.email)
    const passkey = person.device.get(await world.run(auth.createPasskeyRequest, { sessionId }))
    const complete = (body: object) => refusalOf(world.run(auth.completeLogin, { sessionId, ...body }))
    expect((await complete({ mfaMethod: 'PASSKEY', passkey, code: '123456' })).detail.field).toBe('code')
    expect((await complete({ mfaMethod: 'PASSKEY' })).detail.field).toBe('passkey')
    expect((await complete({ mfaMethod: 'EMAIL', passkey, code: '123456' })).detail.field).toBe('passkey')
    expect((await complete({ mfaMethod: 'EMAIL' })).detail.field).toBe('code')
    expect(await codeOf(world.run(auth.completeLogin, { sessionId, mfaMethod: 'EMAIL', passkey }))).toBe(
      'VALIDATION.INVALID_PARAMETER',
    )
  })
})
