import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { reservedCodes } from '../../src/identity/codes/service.ts'
import { createIdentity, type Identity, identityColumns } from '../../src/identity/index.ts'
import * as auth from '../../src/identity/login/contract.ts'
import { resetPassword } from '../../src/identity/passwords/contract.ts'
import { createKeyedDigest, createSecretBox, secretKeyId } from '../../src/platform/crypto/index.ts'
import { readKeyUsage, resealAll } from '../../src/platform/key-rotation/index.ts'
import { systemRandomness } from '../../src/platform/runtime/index.ts'
import {
  begin,
  call,
  codeOf,
  complete,
  createRequestContext,
  credential,
  initiate,
  runJobs,
  signIn,
} from './harness.ts'
import { newPassword, recoveryHarness, requestResetLink, resetTokenOf } from './recovery.ts'

const [first, second] = [new Uint8Array(32).fill(7), new Uint8Array(32).fill(8)]
const at = await recoveryHarness(() => undefined)
let rotated: Identity
function identityUnder(current: Uint8Array, previous: Uint8Array[]): Promise<Identity> {
  const keys = { current, previous }
  const secrets = { secretBox: createSecretBox(keys, systemRandomness), digest: createKeyedDigest(keys) }
  return createIdentity({ ...at.ports, ...secrets }, at.settings)
}

beforeAll(async () => {
  rotated = await identityUnder(second, [first])
})
afterAll(() => at.close())

test('identity does not start while values need a previous key that is not configured', async () => {
  await expect(identityUnder(second, [])).rejects.toThrow(/signing-key has the key id .* PORTICO_SECRET_KEY_PREVIOUS/)
})

function context() {
  return createRequestContext(at.clock)
}

test('auth.refresh 200: the tokens of a session survive a rotation', async () => {
  await at.account('rotated@demo.test')
  const session = await signIn(at, 'rotated@demo.test')
  expect((await rotated.authentication.accessToken(credential(session.accessToken))).portal).toBe('CONSUMER')
  const { refreshToken } = await call(rotated, auth.refreshToken, context(), { refreshToken: session.refreshToken })
  const again = await call(rotated, auth.refreshToken, context(), { refreshToken: session.refreshToken })
  expect(again.refreshToken).toBe(refreshToken)
  expect((await call(rotated, auth.refreshToken, context(), { refreshToken })).accessToken).toBeTypeOf('string')
})

test('auth.loginComplete 200: a sign-in and its code survive a rotation, and work once', async () => {
  await at.account('pending@demo.test')
  const { sessionId, code } = await begin(at, 'pending@demo.test')
  expect(await codeOf(complete(at, sessionId, '000000', {}, rotated))).toBe('AUTH.CODE_INVALID')
  expect((await complete(at, sessionId, code, {}, rotated)).accessToken).toBeTypeOf('string')
  expect(await codeOf(complete(at, sessionId, code, {}, rotated))).toBe('AUTH.SESSION_NOT_FOUND')
})

test('auth.loginComplete 401 AUTH.CLIENT_MISMATCH: uses up a try of a sign-in before the rotation', async () => {
  await at.account('mismatch@demo.test')
  const { sessionId } = await begin(at, 'mismatch@demo.test')
  const attempt = () => codeOf(complete(at, sessionId, '000000', { clientHash: 'client-two' }, rotated))
  for (let tries = 0; tries < at.settings.login.attempts; tries++) expect(await attempt()).toBe('AUTH.CLIENT_MISMATCH')
  expect(await attempt()).toBe('AUTH.SESSION_NOT_FOUND')
})

test('password.reset 200: a link from before the rotation works once', async () => {
  await at.account('reset@demo.test')
  await requestResetLink(at, 'reset@demo.test')
  const token = resetTokenOf(at, 'reset@demo.test') ?? expect.fail()
  const reset = () => call(rotated, resetPassword, context(), { token, newPassword })
  await reset()
  expect(await codeOf(reset())).toBe('AUTH.SESSION_NOT_FOUND')
})

test('a lockout from before the rotation stays in force', async () => {
  await at.account('locked@demo.test')
  const wrong = () => codeOf(initiate(at, 'locked@demo.test', {}, 'wrong-Password-77'))
  let code = await wrong()
  for (let tries = 0; tries < 100 && code !== 'ACCESS.RATE_LIMITED'; tries++) code = await wrong()
  expect(code).toBe('ACCESS.RATE_LIMITED')
  const input = { email: 'locked@demo.test', password: 'wrong-Password-77' }
  expect(await codeOf(call(rotated, auth.initiateLogin, context(), input))).toBe('ACCESS.RATE_LIMITED')
})

async function lockOut(email: string, clientHash: string, identity: Identity): Promise<void> {
  const input = { email, password: 'wrong-Password-77' }
  const from = { ...context(), clientHash }
  const wrong = () => codeOf(call(identity, auth.initiateLogin, from, input))
  let code = await wrong()
  for (let tries = 0; tries < 100 && code !== 'ACCESS.RATE_LIMITED'; tries++) code = await wrong()
  expect(code).toBe('ACCESS.RATE_LIMITED')
}

test('a device from before the rotation keeps its own counter of failures, and its lockout', async () => {
  await at.account('own-counter@demo.test')
  await signIn(at, 'own-counter@demo.test')
  const right = { email: 'own-counter@demo.test', password: 'correct horse battery staple' }
  const initiateRotated = () => call(rotated, auth.initiateLogin, context(), right)
  await lockOut(right.email, 'a-stranger', rotated)
  expect((await initiateRotated()).sessionId).toBeTypeOf('string')
  await lockOut(right.email, context().clientHash, at.identity)
  expect(await codeOf(initiateRotated())).toBe('ACCESS.RATE_LIMITED')
})

test('password.reset 200: ends the lockouts of all devices from before the rotation', async () => {
  await at.account('reset-lockout@demo.test')
  await signIn(at, 'reset-lockout@demo.test')
  await requestResetLink(at, 'reset-lockout@demo.test')
  const token = resetTokenOf(at, 'reset-lockout@demo.test') ?? expect.fail()
  const clients = ['a-stranger', context().clientHash]
  for (const client of clients) await lockOut('reset-lockout@demo.test', client, at.identity)
  await call(rotated, resetPassword, context(), { token, newPassword })
  const input = { email: 'reset-lockout@demo.test', password: newPassword }
  for (const clientHash of clients)
    expect((await call(rotated, auth.initiateLogin, { ...context(), clientHash }, input)).sessionId).toBeTypeOf(
      'string',
    )
})

test('a device from before the rotation is known: no notice of a new device', async () => {
  await at.account('device@demo.test')
  await signIn(at, 'device@demo.test')
  await runJobs(at)
  const { sessionId, code } = await begin(at, 'device@demo.test')
  const count = () => at.outbox.list().filter(({ to }) => to === 'device@demo.test').length
  const before = count()
  await complete(at, sessionId, code, {}, rotated)
  await runJobs(at)
  expect(count()).toBe(before)
  const devices = await at.ports.database.selectFrom('known_devices').select('clientDigest').execute()
  const digest = createKeyedDigest({ current: second, previous: [] })
  expect(devices.some(({ clientDigest }) => digest.isCurrent(clientDigest))).toBe(true)
})

function hexOf(secretKey: Uint8Array): string {
  return Buffer.from(secretKeyId(secretKey)).toString('hex')
}
const keys = { current: hexOf(second), previous: [hexOf(first)] }

test('keys status: known devices and failed sign-ins need the previous key until the next sign-in', async () => {
  const previous = async () => {
    const usages = await readKeyUsage(at.ports.database, identityColumns, keys, at.clock.now())
    return new Map(usages.map((usage) => [usage.label, usage.previous]))
  }
  for (const table of ['known_devices', 'login_failures'])
    await sql`DELETE FROM ${sql.table(table)}`.execute(at.ports.database)
  await at.account('status@demo.test')
  await signIn(at, 'status@demo.test')
  await codeOf(initiate(at, 'status@demo.test', {}, 'wrong-Password-77'))
  const before = await previous()
  expect([before.get('known devices'), before.get('failed sign-ins')]).toEqual([1, 1])
  const { sessionId, code } = await begin(at, 'status@demo.test')
  await complete(at, sessionId, code, {}, rotated)
  const after = await previous()
  expect([after.get('known devices'), after.get('failed sign-ins')]).toEqual([0, 0])
})

describe('after the previous key was removed', () => {
  test('devices under it do not keep the reserve of mailed codes from their owner', async () => {
    const alone = await recoveryHarness(() => undefined)
    try {
      await alone.account('removed@demo.test')
      await signIn(alone, 'removed@demo.test')
      const [database, both] = [alone.ports.database, { current: second, previous: [first] }]
      await resealAll(
        { database, secretBox: createSecretBox(both, systemRandomness), keys },
        identityColumns,
        () => undefined,
      )
      const only = { current: second, previous: [] }
      const secrets = { secretBox: createSecretBox(only, systemRandomness), digest: createKeyedDigest(only) }
      const after = await createIdentity({ ...alone.ports, ...secrets }, alone.settings)
      alone.clock.advance(600_000)
      const from = () => createRequestContext(alone.clock)
      const credentials = { email: 'removed@demo.test', password: 'correct horse battery staple' }
      const { sessionId } = await call(after, auth.initiateLogin, from(), credentials)
      const { limit } = alone.settings.portals.CONSUMER.codeSends
      for (let sent = 0; sent < limit; sent++) {
        await call(after, auth.sendLoginCode, from(), { sessionId, mfaMethod: 'EMAIL' })
        alone.clock.advance(alone.settings.login.resendMs)
      }
      expect(limit).toBeGreaterThan(reservedCodes)
    } finally {
      await alone.close()
    }
  })
})
