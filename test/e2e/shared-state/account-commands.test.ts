import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runCli } from '../../harness/cli.ts'
import { send } from '../../harness/http.ts'
import { needsStore } from '../../harness/needs.ts'
import { type Portico, startPortico } from '../../harness/portico.ts'
import { signIn } from '../../harness/sign-in.ts'

/** On a running deployment, which the embedded store does not allow. */
describe('account commands on a running deployment', needsStore('distributed'), () => {
  let portico: Portico
  beforeAll(async () => {
    portico = await startPortico()
  })
  afterAll(() => portico?.stop())

  const run = (...args: string[]) => {
    const { databaseUrl, redisUrl } = portico.settings
    const variables = { DATABASE_URL: databaseUrl?.reveal() ?? '', REDIS_URL: redisUrl?.reveal() ?? '' }
    return runCli([...args, '--reason', 'stolen laptop'], {}, variables)
  }
  const statuses = (token: string) =>
    Promise.all(portico.urls.map(async (url) => (await send(url, 'GET', '/web/v1/consumer/profile', { token })).status))
  const untilRefused = async (token: string): Promise<void> =>
    expect.poll(() => statuses(token), { timeout: 10_000, interval: 100 }).toEqual(portico.urls.map(() => 401))

  test('account end-sessions: every replica refuses the session, and a new sign-in works', async () => {
    const { accessToken } = await signIn(portico)
    expect(await statuses(accessToken)).toEqual(portico.urls.map(() => 200))
    const ended = await run('account', 'end-sessions', 'owner@demo.test')
    expect(ended, ended.err).toMatchObject({ code: 0, err: '' })
    expect(ended.out).toMatch(/^ended [1-9]\d* sessions of owner@demo\.test\n/)
    await untilRefused(accessToken)
    expect(await statuses((await signIn(portico)).accessToken)).toEqual(portico.urls.map(() => 200))
  })

  test('account suspend, reactivate: every replica refuses the session; the mails contain the reason', async () => {
    const { accessToken } = await signIn(portico, 'member@demo.test')
    expect((await run('account', 'suspend', 'member@demo.test')).code).toBe(0)
    await untilRefused(accessToken)
    expect((await portico.mailTo('member@demo.test', 'account-decision')).text).toContain('stolen laptop')
    expect((await run('account', 'reactivate', 'member@demo.test')).code).toBe(0)
    await signIn(portico, 'member@demo.test')
  })

  test('account suspend: works without Redis, with a warning on standard error', async () => {
    const { databaseUrl } = portico.settings
    const variables = { DATABASE_URL: databaseUrl?.reveal() ?? '', REDIS_URL: 'redis://127.0.0.1:1' }
    const args = ['account', 'suspend', 'member@demo.test', '--reason', 'stolen laptop', '--json']
    const { code, out, err } = await runCli(args, {}, variables)
    expect([code, JSON.parse(out).status]).toEqual([0, 'SUSPENDED'])
    expect(err).toMatch(/^portico: continues without Redis, .*\n$/)
  })
})
