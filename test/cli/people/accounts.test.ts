import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databaseTarget } from '../../../src/compose/store.ts'
import { openDatabase } from '../../../src/database/index.ts'
import { developmentIds } from '../../../src/seed/development.ts'
import { runCli } from '../../harness/cli.ts'
import { testSettings } from '../../harness/settings.ts'
import { seededDirectory } from '../../harness/template.ts'

const why = ['--reason', 'stolen phone']
const owner = 'owner@demo.test'

describe('accounts by the command line', () => {
  let store: Awaited<ReturnType<typeof seededDirectory>>
  beforeAll(async () => {
    store = await seededDirectory()
  })
  afterAll(() => store?.remove())

  const portico = (...args: string[]) => runCli(args, {}, { PORTICO_DATA_DIR: store.directory, DATABASE_URL: '' })
  const json = async (...args: string[]) => JSON.parse((await portico(...args, '--json')).out)
  const withDatabase = async <T>(
    work: (database: Awaited<ReturnType<typeof openDatabase>>['database']) => Promise<T>,
  ) => {
    const settings = testSettings({ PORTICO_DATA_DIR: store.directory })
    const opened = await openDatabase(databaseTarget(settings, () => undefined))
    try {
      return await work(opened.database)
    } finally {
      await opened.close()
    }
  }
  const entriesOf = (action: string) =>
    withDatabase((database) =>
      database
        .selectFrom('audit_log')
        .select(['targetBizId', 'actorBizId', 'outcome', 'detail'])
        .where('action', '=', action)
        .execute(),
    )
  const accountOf = (email: string) =>
    withDatabase((database) =>
      database
        .selectFrom('accounts')
        .select(['bizId', 'accountStatus'])
        .where('emailCanonical', '=', email)
        .executeTakeFirstOrThrow(),
    )
  /** Opens a session of the account, and an API key in its workspace. */
  const openSession = (accountId: string) =>
    withDatabase((database) =>
      sql`INSERT INTO sessions (biz_id, portal, account_biz_id, client_digest, client_ip, user_agent, login_at,
            last_activity_at, idle_expires_at, expires_at)
          VALUES (${crypto.randomUUID()}, 'CONSUMER', ${accountId}, '\\x00', '192.0.2.7', 'browser', now(), now(),
            now() + interval '30 minutes', now() + interval '1 hour')`.execute(database),
    )
  const openSessions = (accountId: string) =>
    withDatabase(async (database) => {
      const rows = await sql<{ n: number }>`SELECT count(*)::int AS n FROM sessions
        WHERE account_biz_id = ${accountId} AND ended_at IS NULL`.execute(database)
      return rows.rows[0]?.n
    })

  test('account find: by part of an address, and by phone; exit code 1 without a match', async () => {
    const { bizId } = await accountOf(owner)
    await withDatabase((database) =>
      database.updateTable('accounts').set({ phone: '+15551234567' }).where('bizId', '=', bizId).execute(),
    )
    for (const text of ['OWNER@demo', '+1 (555) 123-4567']) {
      const { accounts } = await json('account', 'find', text)
      expect(
        accounts.map(({ id }: { id: string }) => id),
        text,
      ).toContain(bizId)
    }
    const none = await portico('account', 'find', 'nobody-has-this')
    expect([none.code, none.out]).toEqual([1, 'no account matches\n'])
  })

  test('account show: state, factors, lockouts, workspaces and sessions, without a secret', async () => {
    const { bizId } = await accountOf(owner)
    await openSession(bizId)
    const shown = await json('account', 'show', owner)
    expect(shown).toMatchObject({ id: bizId, portal: 'CONSUMER', status: 'ACTIVE', lockouts: [], backupCodes: 0 })
    expect(shown.workspaces).toContainEqual(expect.objectContaining({ id: developmentIds.workspace }))
    expect(shown.sessions).toMatchObject([{ clientIp: '192.0.2.7' }])
    expect(JSON.stringify(shown)).not.toMatch(/hash|secret|digest/i)
    const text = await portico('account', 'show', bizId)
    expect(text.out).toMatch(/^id +.*\nportal +CONSUMER\nstatus +ACTIVE\n/)
  })

  test('account suspend: ends sessions, queues the mail, and records the reason without an actor', async () => {
    const { bizId } = await accountOf(owner)
    const suspended = await portico('account', 'suspend', owner, ...why)
    expect(suspended, suspended.err).toMatchObject({ code: 0, out: `${owner} is SUSPENDED\n` })
    expect(await entriesOf('account suspend')).toEqual([
      { targetBizId: bizId, actorBizId: null, outcome: 'SUCCESS', detail: { reason: 'stolen phone' } },
    ])
    await withDatabase(async (database) => {
      const mails = database.selectFrom('jobs').select('payload').where('kind', '=', 'operators.mailDecision')
      expect(await mails.execute()).toEqual([
        { payload: { accountId: bizId, decision: 'SUSPENDED', reason: 'stolen phone' } },
      ])
    })
    const again = await portico('account', 'suspend', owner, ...why)
    expect([again.code, again.out]).toEqual([1, ''])
    expect(again.err).toContain('nothing was changed: the account is SUSPENDED, not ACTIVE')
  })

  test('account reactivate, end-sessions: by id, with the reason in the audit log', async () => {
    const { bizId } = await accountOf(owner)
    const reactivated = await json('account', 'reactivate', bizId, ...why)
    expect(reactivated).toEqual({ id: bizId, portal: 'CONSUMER', email: owner, status: 'ACTIVE' })
    await openSession(bizId)
    const ended = await json('account', 'end-sessions', bizId, ...why)
    expect(ended).toMatchObject({ terminatedSessions: 1, suspendedCredentials: { apiKeys: expect.any(Number) } })
    expect(await openSessions(bizId)).toBe(0)
    const [entry] = await entriesOf('account end-sessions')
    expect(entry).toMatchObject({ actorBizId: null, detail: { terminatedSessions: 1, reason: 'stolen phone' } })
  })

  test('operator suspend: refuses the last one who manages operators, unless --allow-last is set', async () => {
    const { operators } = await json('operator', 'list')
    const managers = operators.filter(({ permissions }: { permissions: string[] }) =>
      permissions.includes('operator:manage'),
    )
    const emails: string[] = managers.map(({ email }: { email: string }) => email)
    expect(emails.length).toBeGreaterThan(1)
    await withDatabase((database) =>
      database
        .updateTable('accounts')
        .set({ operatorPermissions: [] })
        .where('portal', '=', 'SYSTEM')
        .where('emailCanonical', 'not in', emails.slice(0, 2))
        .execute(),
    )
    const [first = '', last = ''] = emails
    expect((await portico('operator', 'suspend', first, ...why)).code).toBe(0)
    const refused = await portico('account', 'suspend', last, '--portal', 'SYSTEM', ...why)
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('the last active operator')])
    expect(refused.err).toContain('set --allow-last to suspend it anyway')
    const allowed = await portico('operator', 'suspend', last, ...why, '--allow-last')
    expect(allowed, allowed.err).toMatchObject({ code: 0, out: `${last} is SUSPENDED\n` })
  })

  test('account show exit 1: names the option if the address belongs to the other portal', async () => {
    for (const args of [
      ['account', 'show', 'operator@demo.test'],
      ['account', 'suspend', 'operator@demo.test', ...why],
    ])
      expect((await portico(...args)).err).toBe(
        'portico: operator@demo.test has no account on the CONSUMER portal, but on SYSTEM: add --portal SYSTEM\n',
      )
    const suspended = await portico('operator', 'suspend', owner, ...why)
    expect(suspended.err).toBe(`portico: ${owner} has no account on the SYSTEM portal\n`)
    expect((await portico('account', 'show', 'nobody@demo.test')).err).toBe(
      'portico: nobody@demo.test has no account on the CONSUMER portal\n',
    )
  })

  test('operator list: names the role of operator create, and lists only other permissions', async () => {
    const create = ['operator', 'create', '--name', 'New', '--no-authenticator', ...why]
    for (const more of [
      ['--email', 'someone@demo.test', '--permissions', 'operator:read,audit:read'],
      ['--email', 'auditor@demo.test', '--role', 'auditor'],
    ])
      expect(await portico(...create, ...more)).toMatchObject({ code: 0 })
    const { out } = await portico('operator', 'list')
    expect(out).toMatch(/^operator@demo\.test .* administrator$/m)
    expect(out).toMatch(/^someone@demo\.test .* (operator:read,audit:read|audit:read,operator:read)$/m)
    expect(out).toMatch(/^auditor@demo\.test .* auditor$/m)
  })

  test.each([
    ['account suspend without a reason', ['account', 'suspend', owner], '--reason is required'],
    ['account end-sessions without an account', ['account', 'end-sessions', ...why], 'the account is required'],
    ['account show on an unknown portal', ['account', 'show', owner, '--portal', 'system'], '--portal must be one of'],
    ['account find without a text', ['account', 'find'], 'a text is required'],
    ['operator suspend without a reason', ['operator', 'suspend', owner], '--reason is required'],
  ])('%s: exit code 2', async (_name, args, message) => {
    const { code, out, err } = await portico(...args)
    expect([code, out]).toEqual([2, ''])
    expect(err).toContain(message)
  })
})
