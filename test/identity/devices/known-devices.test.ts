import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { resetPassword } from '../../../src/identity/passwords/contract.ts'
import { days } from '../../../src/kernel/index.ts'
import { begin, codeOf, complete, type Harness, harness, initiate, refusalOf, send } from '../harness.ts'
import { callAnonymously, requestResetLink, resetTokenOf } from '../recovery.ts'

let at: Harness
beforeAll(async () => {
  at = await harness(({ login }) => {
    login.resendMs = 0
  })
})
afterAll(() => at.close())

const [own, stranger] = [{ clientHash: 'own-device' }, { clientHash: 'device-of-a-stranger' }]

/** Waits until the limits of mailed codes have passed. */
async function signInFrom(email: string, device: { clientHash: string }) {
  const { sessionId, code } = await begin(at, email, device)
  const login = await complete(at, sessionId, code, device)
  at.clock.advance(600_000)
  return login
}

function guess(email: string, device: { clientHash: string }) {
  return codeOf(initiate(at, email, device, 'wrong'))
}
async function lockOut(email: string, device: { clientHash: string }): Promise<void> {
  for (let failures = 0; failures < 10; failures++) expect(await guess(email, device)).toBe('AUTH.INVALID_CREDENTIALS')
  expect(await guess(email, device)).toBe('ACCESS.RATE_LIMITED')
}

describe('lockout of sign-ins', () => {
  test('a stranger who is locked out does not lock out a known device', async () => {
    await at.account('owner@demo.test')
    await signInFrom('owner@demo.test', own)
    await lockOut('owner@demo.test', stranger)
    expect(await codeOf(initiate(at, 'owner@demo.test', { clientHash: 'another-stranger' }))).toBe(
      'ACCESS.RATE_LIMITED',
    )
    const { sessionId, code } = await begin(at, 'owner@demo.test', own)
    expect((await complete(at, sessionId, code, own)).isNewDevice).toBe(false)
    expect(await guess('owner@demo.test', stranger)).toBe('ACCESS.RATE_LIMITED')
  })

  test('a known device has its own ten failures', async () => {
    await at.account('careless@demo.test')
    await signInFrom('careless@demo.test', own)
    await lockOut('careless@demo.test', own)
    expect((await initiate(at, 'careless@demo.test', stranger)).sessionId).toBeTypeOf('string')
  })

  test('an account with known devices and an unknown address refuse strangers alike', async () => {
    await at.account('seen@demo.test')
    await signInFrom('seen@demo.test', own)
    const refusals = []
    for (const email of ['seen@demo.test', 'nobody@demo.test']) {
      await lockOut(email, stranger)
      const { code, detail } = await refusalOf(initiate(at, email, stranger))
      refusals.push({ code, detail })
    }
    expect(refusals[0]).toEqual(refusals[1])
  })

  test('a device is known to the account that it signed in to only', async () => {
    await at.account('first@demo.test')
    await at.account('second@demo.test')
    await signInFrom('first@demo.test', own)
    await lockOut('second@demo.test', stranger)
    expect(await guess('second@demo.test', own)).toBe('ACCESS.RATE_LIMITED')
  })

  test('a device that has not signed in for 90 days is unknown, and new again after cleanup', async () => {
    await at.account('absent@demo.test')
    await signInFrom('absent@demo.test', own)
    at.clock.advance(days(90))
    await lockOut('absent@demo.test', stranger)
    expect(await guess('absent@demo.test', own)).toBe('ACCESS.RATE_LIMITED')
    at.clock.advance(3_600_000)
    await at.identity.deleteExpired(at.ports.database)
    expect((await signInFrom('absent@demo.test', own)).isNewDevice).toBe(true)
  })

  test('only the most recent devices are known', async () => {
    await at.account('many@demo.test')
    const devices = Array.from({ length: 21 }, (_, index) => `device-${index}`)
    for (const clientHash of devices) await signInFrom('many@demo.test', { clientHash })
    await lockOut('many@demo.test', stranger)
    const [oldest = '', ...recent] = devices
    expect(await guess('many@demo.test', { clientHash: oldest })).toBe('ACCESS.RATE_LIMITED')
    for (const clientHash of recent)
      expect(await guess('many@demo.test', { clientHash })).toBe('AUTH.INVALID_CREDENTIALS')
  })

  test('a password reset ends the lockouts of all devices', async () => {
    await at.account('reset@demo.test')
    await signInFrom('reset@demo.test', own)
    await lockOut('reset@demo.test', own)
    await lockOut('reset@demo.test', stranger)
    await requestResetLink(at, 'reset@demo.test')
    const newPassword = 'violet-Anchor-Tundra-58'
    await callAnonymously(at, resetPassword, { token: resetTokenOf(at, 'reset@demo.test'), newPassword })
    for (const device of [own, stranger])
      expect(await guess('reset@demo.test', device)).toBe('AUTH.INVALID_CREDENTIALS')
  })
})

describe('mailed codes', () => {
  const sendUntilRefused = async (email: string, device: { clientHash: string }): Promise<number> => {
    const { sessionId } = await initiate(at, email, device)
    for (let sent = 0; sent < 10; sent++) {
      const refused = await send(at, sessionId, device).then(
        () => null,
        (error: unknown) => error,
      )
      if (refused) {
        expect(await codeOf(Promise.reject(refused))).toBe('ACCESS.RATE_LIMITED')
        return sent
      }
    }
    return 10
  }

  test('a stranger with the password leaves two of five codes to known devices', async () => {
    await at.account('codes@demo.test')
    await signInFrom('codes@demo.test', own)
    expect(await sendUntilRefused('codes@demo.test', stranger)).toBe(3)
    expect(await sendUntilRefused('codes@demo.test', own)).toBe(2)
  })

  test('a known device gets all five codes if nobody else requests any', async () => {
    await at.account('alone@demo.test')
    await signInFrom('alone@demo.test', own)
    expect(await sendUntilRefused('alone@demo.test', own)).toBe(5)
  })

  test('an account without known devices gets all five codes', async () => {
    await at.account('fresh@demo.test')
    expect(await sendUntilRefused('fresh@demo.test', stranger)).toBe(5)
  })
})
