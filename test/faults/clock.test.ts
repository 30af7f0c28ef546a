import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hours, minutes } from '../../src/kernel/index.ts'
import { needsPostgres } from '../harness/needs.ts'
import { emptyPostgres } from '../harness/prepared-postgres.ts'
import { type PorticoProcess, startProcess } from '../harness/process.ts'
import { codeIn } from '../harness/sign-in.ts'
import { createClient, sendRequest, signedIn, transfer } from './client.ts'
import { checkBook } from './invariants.ts'

const postgres = await emptyPostgres()
afterAll(() => postgres?.stop())

const shim = new URL('shifted-clock.mjs', import.meta.url).href

describe.each([
  ['forward', 3_600_000],
  ['back', -3_600_000],
])('the clock jumps %s by an hour', needsPostgres(postgres), (direction, shift) => {
  let gateway: PorticoProcess
  const client = createClient(() => [gateway])

  beforeAll(async () => {
    process.env.PORTICO_TEST_CLOCK_SHIFT = String(shift)
    const variables = { DATABASE_URL: postgres?.url ?? '', PORTICO_RATE_LIMIT_SCALE: '1000', LOG_LEVEL: 'error' }
    gateway = await startProcess(variables, 'gateway', ['--import', shim])
  })
  afterAll(() => gateway?.stop())

  const pendingLogin = async () => {
    const credentials = { email: 'member@demo.test', password: 'Portico-demo-2026' }
    const { body } = await client.call('POST', '/web/v1/consumer/auth/login/initiate', { body: credentials })
    const { sessionId } = body.data
    await client.call('POST', '/web/v1/consumer/auth/login/mfa/send', { body: { sessionId, mfaMethod: 'EMAIL' } })
    return { sessionId, mfaMethod: 'EMAIL', code: codeIn((await client.mailTo(credentials.email)).text) }
  }

  test('expiries fail closed, a new sign-in works, and the ledger stays consistent', async () => {
    const user = await signedIn(client)
    expect((await transfer(user)).status).toBe(200)
    const login = await pendingLogin()

    gateway.child.kill('SIGUSR2')
    await expect.poll(async () => (await sendRequest(user, 'GET', '/profile')).status).toBe(401)
    const refused = [await sendRequest(user, 'GET', '/wallets'), await transfer(user)]
    expect(refused.map(({ status }) => status)).toEqual([401, 401])
    const completed = await client.call('POST', '/web/v1/consumer/auth/login/complete', { body: login })
    // If the clock was set back, the attempt starts further in the future than its lifetime, and is invalid, too.
    expect(completed.status, completed.text).toBe(404)
    expect((await fetch(`${gateway.operationsUrl}/health/ready`)).status).toBe(200)
    const again = await transfer(await signedIn(client))
    expect(again.status).toBe(200)
    await checkBook({ url: postgres?.url ?? '' }, direction === 'forward' ? 2 : 4)
  })
})

test(
  'a replica whose clock is 8 h fast: not ready, recurring jobs wait, and its commands have the time of PostgreSQL',
  needsPostgres(postgres),
  async () => {
    const shifted = `data:text/javascript,const now = Date.now; Date.now = () => now() + ${hours(8)}`
    const variables = { DATABASE_URL: postgres?.url ?? '', PORTICO_RATE_LIMIT_SCALE: '1000', LOG_LEVEL: 'warn' }
    const gateway = await startProcess(variables, 'gateway', ['--import', shifted])
    try {
      const ready = await fetch(`${gateway.operationsUrl}/health/ready`)
      expect(ready.status).toBe(503)
      expect(await ready.json()).toMatchObject({ checks: { clock: 'failed', store: 'ok' } })
      const metrics = await (await fetch(`${gateway.operationsUrl}/metrics`)).text()
      expect(metrics).toMatch(/^portico_clock_skew_seconds 28[78]\d\d(\.\d+)?$/m)
      const user = await signedIn(createClient(() => [gateway]))
      const { status, orderId } = await transfer(user)
      expect(status).toBe(200)
      const { body } = await sendRequest(user, 'GET', `/transfer/query/orders/${orderId}`)
      expect(Math.abs(Date.parse(body.data.createdAt) - Date.now())).toBeLessThan(minutes(5))
    } finally {
      await gateway.stop()
    }
  },
)

test.each([
  [0, /^(?!.*ANOTHER TIME)/s],
  [120_000, /"aheadMs":1(1\d|20)\d{3},"msg":"clock skew between this process and the database/],
])(
  'a clock that is %i ms ahead of PostgreSQL’s is logged when the process starts',
  needsPostgres(postgres),
  async (shift, logged) => {
    const shifted = `data:text/javascript,const now = Date.now; Date.now = () => now() + ${shift}`
    const variables = { DATABASE_URL: postgres?.url ?? '', LOG_LEVEL: 'warn' }
    const gateway = await startProcess(variables, 'gateway', ['--import', shifted])
    await gateway.stop()
    expect(gateway.output()).toMatch(logged)
  },
)

test.each([
  [hours(12) + minutes(1), /clock skew: this process is 43\d{6} ms ahead of the database/],
  [-hours(12) - minutes(1), /clock skew: this process is -43\d{6} ms ahead of the database/],
])(
  'a clock that is %i ms ahead of PostgreSQL’s ends the process as it starts',
  needsPostgres(postgres),
  async (shift, logged) => {
    const shifted = `data:text/javascript,const now = Date.now; Date.now = () => now() + ${shift}`
    const variables = { DATABASE_URL: postgres?.url ?? '', LOG_LEVEL: 'warn' }
    await expect(startProcess(variables, 'gateway', ['--import', shifted])).rejects.toThrow(logged)
  },
)
