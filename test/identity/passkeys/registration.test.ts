import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { verifyPasskey } from '../../../src/identity/login/contract.ts'
import {
  createPasskeyOptions,
  deletePasskey,
  listPasskeys,
  registerPasskey,
  renamePasskey,
} from '../../../src/identity/passkeys/contract.ts'
import { type Ceremony, SoftwareAuthenticator } from '../../harness/authenticator.ts'
import { codeOf, refusalOf, runJobs, signedIn } from '../harness.ts'
import { origin, type PasskeyWorld, type Person, passkeyWorld } from './world.ts'

let world: PasskeyWorld
let person: Person
beforeAll(async () => {
  world = await passkeyWorld()
  person = await world.person()
})
afterAll(() => world.at.close())

const options = (by = person) => world.run(createPasskeyOptions, {}, by)
const refused = async (how: Ceremony, by = person) => {
  const { code, detail } = await refusalOf(
    world.run(registerPasskey, { credential: by.device.create(await options(by), how) }, by),
  )
  return [code, detail.internal]
}
const invalid = (internal: string) => ['AUTH.PASSKEY_INVALID', expect.stringContaining(internal)]

describe('passkeys.register', () => {
  const wrong: [name: string, how: Ceremony, internal: string][] = [
    ['another origin', { origin: 'https://bank.example.evil.example' }, 'origin'],
    ['another rp id', { rpId: 'evil.example' }, 'RP ID'],
    ['a frame of another origin', { crossOrigin: true }, 'frame'],
    ['a sign-in in place of a registration', { type: 'webauthn.get' }, 'webauthn.get'],
    ['an absent user', { userPresent: false }, 'not present'],
    ['an unverified user', { userVerified: false }, 'verification'],
    ['an attestation that was not asked for', { format: 'packed', certificates: [Buffer.of(48, 0)] }, 'packed'],
    ['a challenge that nobody created', { challenge: 'AAAA' }, 'challenge'],
  ]
  test.each(wrong)('401: %s', async (_, how, internal) => {
    expect(await refused(how)).toEqual(invalid(internal))
    expect(await world.run(listPasskeys, null, person)).toEqual([])
  })

  test('401: a challenge of a sign-in, another session or another account, or an old one', async () => {
    const { challenge } = await world.options()
    expect(await refused({ challenge })).toEqual(invalid('challenge'))
    const other = { ...person, caller: await signedIn(world.at, person.email) }
    expect(await refused({ challenge: (await options(other)).challenge })).toEqual(invalid('challenge'))
    const stranger = await world.person()
    expect(await refused({ challenge: (await options(stranger)).challenge })).toEqual(invalid('challenge'))
    const old = await options()
    world.at.clock.advance(5 * 60_000)
    expect(await refused({ challenge: old.challenge })).toEqual(invalid('challenge'))
  })

  test('409: the credential of another account', async () => {
    const [first, second] = [await world.person(), await world.person()]
    await world.register(first)
    const created = first.device.create(await options(second))
    await world.run(registerPasskey, { credential: created }, second)
    const again = await options(first)
    const [key] = first.device.keys
    expect(again.excludeCredentials).toEqual([{ id: key?.id, type: 'public-key', transports: ['internal'] }])
    const replaced = { ...first.device.create(again), id: created.id, rawId: created.id }
    const { code, detail } = await refusalOf(world.run(registerPasskey, { credential: replaced }, first))
    expect([code, detail.internal]).toEqual(invalid('another id'))
  })

  test('200: self-attestation, a name, and a notice with a link that undoes it', async () => {
    const owner = await world.person()
    expect(await world.register(owner, { format: 'packed-self' }, 'Yubikey on the desk')).toMatchObject({
      name: 'Yubikey on the desk',
    })
    await runJobs(world.at)
    const mail = world.at.outbox.list().find(({ to, template }) => to === owner.email && template === 'factor-added')
    expect(mail?.text).toContain('A passkey has been added')
    await world.enter(owner)
  })

  test('409: an eleventh passkey', async () => {
    const owner = await world.person()
    for (let count = 0; count < 10; count++) await world.register(owner)
    expect(await codeOf(world.register(owner))).toBe('STATE.CONFLICT')
  })

  test('403: a portal without passkeys', async () => {
    const off = await passkeyWorld(({ portals }) => {
      portals.CONSUMER.passkeys = undefined
    })
    try {
      const owner = await off.person()
      const create = () => off.run(createPasskeyOptions, {}, owner)
      expect(await codeOf(create())).toBe('AUTH.PASSKEYS_NOT_AVAILABLE')
      expect(await codeOf(off.options())).toBe('AUTH.PASSKEYS_NOT_AVAILABLE')
      const credential = new SoftwareAuthenticator(origin)
      credential.create(await options())
      const assertion = credential.get(await world.options())
      expect(await codeOf(off.run(verifyPasskey, { credential: assertion }))).toBe('AUTH.PASSKEYS_NOT_AVAILABLE')
    } finally {
      await off.at.close()
    }
  })
})

describe('passkeys.rename and passkeys.delete', () => {
  test('200: the owner renames and deletes a passkey, which then signs nobody in', async () => {
    const owner = await world.person()
    const { passkeyBizId, credentialId } = await world.register(owner)
    expect(await world.run(renamePasskey, { passkeyBizId, name: 'Phone' }, owner)).toMatchObject({ name: 'Phone' })
    const deleted = await world.run(deletePasskey, { passkeyBizId }, owner)
    expect(deleted).toEqual({ success: true, credentialId, rpId: 'bank.example' })
    expect(await codeOf(world.enter(owner))).toBe('AUTH.PASSKEY_INVALID')
    await runJobs(world.at)
    expect(world.at.outbox.list().find(({ to }) => to === owner.email)?.text).toContain('A passkey has been removed')
  })

  test('passkeys.delete 200: other sessions that were started with a passkey end', async () => {
    const owner = await world.person()
    const { passkeyBizId } = await world.register(owner)
    const lost = await world.enter(owner)
    await world.run(deletePasskey, { passkeyBizId }, owner)
    const use = async () => world.callerOf(lost)
    expect(await codeOf(use())).toBe('ACCESS.TOKEN_INVALID')
    expect(await world.run(listPasskeys, null, owner)).toEqual([])
  })

  test('404: the passkey of another account', async () => {
    const [owner, thief] = [await world.person(), await world.person()]
    const { passkeyBizId } = await world.register(owner)
    expect(await codeOf(world.run(renamePasskey, { passkeyBizId, name: 'Mine' }, thief))).toBe('RESOURCE.NOT_FOUND')
    expect(await codeOf(world.run(deletePasskey, { passkeyBizId }, thief))).toBe('RESOURCE.NOT_FOUND')
    await world.enter(owner)
  })

  test('403: the last factor of an operator who cannot use mailed codes', async () => {
    const strict = await passkeyWorld()
    try {
      const owner = await strict.person({ portal: 'SYSTEM', operatorPermissions: ['operator:manage'] })
      const first = await strict.register(owner)
      const second = await strict.register(owner)
      strict.at.settings.portals.SYSTEM.mfa.mailCodes = 'never'
      expect(await strict.run(deletePasskey, { passkeyBizId: first.passkeyBizId }, owner)).toMatchObject({
        success: true,
      })
      expect(await codeOf(strict.run(deletePasskey, { passkeyBizId: second.passkeyBizId }, owner))).toBe(
        'AUTH.AUTHENTICATOR_REQUIRED',
      )
      await strict.enter(owner)
    } finally {
      await strict.at.close()
    }
  })
})
