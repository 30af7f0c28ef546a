import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { verifyPasskey } from '../../../src/identity/login/contract.ts'
import { initPassword } from '../../../src/identity/passwords/contract.ts'
import * as registration from '../../../src/identity/registration/contract.ts'
import { SoftwareAuthenticator } from '../../harness/authenticator.ts'
import { codeOf, refusalOf, runJobs } from '../harness.ts'
import { beginRegistration, newPassword } from '../recovery.ts'
import { origin, type PasskeyWorld, passkeyWorld } from './world.ts'

let world: PasskeyWorld
beforeAll(async () => {
  world = await passkeyWorld(({ portals: { CONSUMER } }) => {
    CONSUMER.selfRegistration = 'open'
  })
})
afterAll(() => world.at.close())

let people = 0
async function registered() {
  people += 1
  const email = `new-${people}@people.test`
  const { sessionId, code } = await beginRegistration(world.at, email)
  await world.run(registration.verifyRegistrationEmail, { sessionId, code })
  const body = { sessionId, accountName: 'Nora Newcomer' }
  const { passwordInitToken: token, accountBizId } = await world.run(registration.completeRegistration, body)
  return { email, token, accountBizId, device: new SoftwareAuthenticator(origin) }
}
type Registered = Awaited<ReturnType<typeof registered>>

const options = ({ token }: Registered, more: object = {}) =>
  world.run(registration.createFirstPasskeyOptions, { token }, more)
const add = async (by: Registered, more: object = {}) => {
  const credential = by.device.create(await options(by))
  return world.run(registration.registerFirstPasskey, { token: by.token, credential, ...more })
}
const initialize = ({ token }: Registered) => world.run(initPassword, { token, newPassword })
const enter = async ({ device }: Registered) => {
  const credential = device.get(await world.options())
  return world.run(verifyPasskey, { credential })
}

describe('the passkey of a person who has just registered', () => {
  test('registration.passkey 200: it signs in without a password, which can follow', async () => {
    const person = await registered()
    expect(await add(person, { name: 'My phone' })).toMatchObject({ name: 'My phone', suspendedAt: null })
    await enter(person)
    await initialize(person)
    await enter(person)
    await runJobs(world.at)
    expect(world.at.outbox.list().some(({ to, template }) => to === person.email && template === 'factor-added')).toBe(
      true,
    )
    const entries = world.at.ports.database.selectFrom('audit_log').select(['detail', 'actorBizId'])
    const [entry] = await entries.where('action', '=', registration.registerFirstPasskey.id).execute()
    expect(entry).toMatchObject({ actorBizId: person.accountBizId, detail: { publicKey: expect.any(String) } })
  })

  test('409: the token registers one passkey, also in parallel', async () => {
    const person = await registered()
    const both = [await options(person), await options(person)].map((each) => person.device.create(each))
    const results = await Promise.allSettled(
      both.map((credential) => world.run(registration.registerFirstPasskey, { token: person.token, credential })),
    )
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(await codeOf(options(person))).toBe('STATE.CONFLICT')
  })

  test('404: a token that has set the password, has expired or is unknown', async () => {
    const [done, late] = [await registered(), await registered()]
    const credential = done.device.create(await options(done))
    await initialize(done)
    const body = { token: done.token, credential }
    expect(await codeOf(world.run(registration.registerFirstPasskey, body))).toBe('AUTH.SESSION_NOT_FOUND')
    expect(await codeOf(options(done))).toBe('AUTH.SESSION_NOT_FOUND')
    expect(await codeOf(options({ ...done, token: 'A'.repeat(43) }))).toBe('AUTH.SESSION_NOT_FOUND')
    world.at.clock.advance(world.at.settings.passwords.initTtlMs)
    expect(await codeOf(options(late))).toBe('AUTH.SESSION_NOT_FOUND')
  })

  test('401: the challenge of another token, client or sign-in, a used one, and one for a sign-in', async () => {
    const [person, other] = [await registered(), await registered()]
    const refused = async (challenge: { challenge: string }, more: object = {}) => {
      const credential = person.device.create({ ...(await options(person)), ...challenge })
      const body = { token: person.token, credential }
      const { code, detail } = await refusalOf(world.run(registration.registerFirstPasskey, body, more))
      return [code, detail.internal]
    }
    const unknown = ['AUTH.PASSKEY_INVALID', expect.stringContaining('challenge')]
    expect(await refused({ challenge: (await options(other)).challenge })).toEqual(unknown)
    expect(await refused({ challenge: (await world.options()).challenge })).toEqual(unknown)
    expect(await refused(await options(person, { clientHash: 'another client' }))).toEqual(unknown)
    expect(await refused(await options(person), { clientHash: 'another client' })).toEqual(unknown)
    await add(other)
    const credential = other.device.get({ ...(await world.options()), challenge: (await options(person)).challenge })
    expect(await codeOf(world.run(verifyPasskey, { credential }))).toBe('AUTH.PASSKEY_INVALID')
  })

  test('403: a portal without passkeys', async () => {
    const person = await registered()
    const { CONSUMER } = world.at.settings.portals
    const { passkeys } = CONSUMER
    CONSUMER.passkeys = undefined
    expect(await codeOf(options(person))).toBe('AUTH.PASSKEYS_NOT_AVAILABLE')
    CONSUMER.passkeys = passkeys
  })
})
