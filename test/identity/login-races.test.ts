import { afterAll, beforeAll, expect, test } from 'vitest'
import { begin, codeOf, complete, type Harness, harness } from './harness.ts'

let at: Harness
beforeAll(async () => {
  at = await harness((settings) => {
    settings.login.codeSends.limit = 1_000
  })
})
afterAll(() => at.close())

const openSessions = async (email: string): Promise<number> => {
  const rows = await at.ports.database
    .selectFrom('sessions')
    .innerJoin('accounts', 'accounts.biz_id', 'sessions.account_biz_id')
    .select('sessions.biz_id')
    .where('accounts.email', '=', email)
    .where('ended_at', 'is', null)
    .execute()
  return rows.length
}

test('auth.loginComplete: of parallel completes of one login exactly one wins, round after round', async () => {
  const other = await at.replica()
  for (let round = 0; round < 20; round++) {
    const email = `race${round}@demo.test`
    await at.account(email)
    const { sessionId, code } = await begin(at, email)
    const tries = [at.identity, other, at.identity, other].map((identity) =>
      complete(at, sessionId, code, {}, identity),
    )
    const won = (await Promise.allSettled(tries)).filter((each) => each.status === 'fulfilled')
    expect(won).toHaveLength(1)
    expect(await openSessions(email)).toBe(1)
  }
})

test('auth.loginComplete: parallel logins never leave more sessions than maxSessions, the oldest end', async () => {
  const email = 'bound@demo.test'
  await at.account(email)
  for (let round = 0; round < 6; round++) {
    at.clock.advance(1_000)
    const logins = []
    for (let login = 0; login < 8; login++) logins.push(await begin(at, email, { clientHash: `client-${login}` }))
    const done = await Promise.all(
      logins.map(({ sessionId, code }, login) => complete(at, sessionId, code, { clientHash: `client-${login}` })),
    )
    expect(done).toHaveLength(8)
    expect(await openSessions(email)).toBe(5)
  }
  const ended = await at.ports.database
    .selectFrom('sessions')
    .select('login_at')
    .where('end_reason', '=', 'DISPLACED')
    .execute()
  expect(Math.min(...ended.map((row) => row.login_at))).toBeLessThan(at.clock.now())
})

test('auth.loginComplete: parallel guesses get five attempts in all', async () => {
  const email = 'guess@demo.test'
  await at.account(email)
  const { sessionId, code } = await begin(at, email)
  const guesses = Array.from({ length: 20 }, (_, guess) => (guess === Number(code) ? '999999' : `00000${guess % 10}`))
  const codes = await Promise.all(guesses.map((guess) => codeOf(complete(at, sessionId, guess))))
  expect(codes.filter((each) => each === 'AUTH.CODE_INVALID')).toHaveLength(5)
})

test('sweeping deletes what can never count again, and nothing that lives', async () => {
  const email = 'sweep@demo.test'
  await at.account(email)
  const { sessionId, code } = await begin(at, email)
  await at.identity.sweep()
  await complete(at, sessionId, code)
  const count = async (table: 'sessions' | 'refresh_tokens' | 'login_sessions' | 'one_time_codes') =>
    (await at.ports.database.selectFrom(table).select('portal').execute()).length
  expect(await count('sessions')).toBeGreaterThan(0)
  at.clock.advance(31 * 86_400_000)
  await at.identity.sweep()
  for (const table of ['sessions', 'refresh_tokens', 'login_sessions', 'one_time_codes'] as const)
    expect(await count(table)).toBe(0)
})
