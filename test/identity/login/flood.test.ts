import { afterAll, beforeAll, expect, test } from 'vitest'
import type { IdentityPorts } from '../../../src/identity/index.ts'
import { type Harness, harness, initiate, signIn } from '../harness.ts'

const email = 'owner@demo.test'
const own = { clientHash: 'own-device', clientIp: '203.0.113.7' }

/** The next verification of a password waits for `opened`. The order names the passwords. */
function createGate() {
  const order: string[] = []
  let opened: Promise<void> = Promise.resolve()
  const intercept = (ports: IdentityPorts): void => {
    const { passwords } = ports
    const verify: typeof passwords.verify = async (hash, password) => {
      order.push(password)
      await opened
      return passwords.verify(hash, password)
    }
    ports.passwords = { ...passwords, verify }
  }
  const close = (): (() => void) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    order.length = 0
    opened = promise
    return resolve
  }
  return { order, intercept, close }
}

const gate = createGate()
let at: Harness
beforeAll(async () => {
  at = await harness(({ login }) => {
    login.concurrency = 1
    login.queue = 80
    login.failures.limit = 10_000
  }, gate.intercept)
  await at.account(email)
  await signIn(at, email, own)
})
afterAll(() => at.close())

async function isSettled(): Promise<boolean> {
  const before = at.identity.queueLengths['login-begin']()
  await new Promise((resolve) => setTimeout(resolve, 300))
  return before > 0 && before === at.identity.queueLengths['login-begin']()
}

const networks = Array.from({ length: 40 }, (_, index) => `198.51.${index}.7`)
function flood(times: number) {
  return networks.flatMap((clientIp) =>
    Array.from({ length: times }, () =>
      initiate(at, `nobody@${clientIp}.test`, { clientHash: 'stranger', clientIp }, 'flood').catch(() => undefined),
    ),
  )
}

test.each([
  ['a known device on a new network', { ...own, clientIp: '192.0.2.7' }],
  ['a new device on a known network', { ...own, clientHash: 'new-device' }],
])('auth.loginInitiate 200: %s is next, although 40 networks fill every queue', async (_, device) => {
  const open = gate.close()
  const strangers = flood(20)
  const owner = initiate(at, email, device)
  await expect.poll(isSettled, { timeout: 20_000 }).toBe(true)
  open()
  expect((await owner).sessionId).toEqual(expect.any(String))
  await Promise.all(strangers)
  expect(gate.order.findIndex((password) => password !== 'flood')).toBe(1)
})
