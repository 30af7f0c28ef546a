import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databaseTarget } from '../../src/compose/store.ts'
import { openDatabase } from '../../src/database/index.ts'
import { developmentIds } from '../../src/seed/development.ts'
import { runCli } from '../harness/cli.ts'
import { testSettings } from '../harness/settings.ts'
import { seededDirectory } from '../harness/template.ts'

const { workspace } = developmentIds
const email = 'checker@demo.test'

describe('rights by the command line', () => {
  let store: Awaited<ReturnType<typeof seededDirectory>>
  beforeAll(async () => {
    store = await seededDirectory()
  })
  afterAll(() => store?.remove())

  const portico = (...args: string[]) => runCli(args, {}, { PORTICO_DATA_DIR: store.directory, DATABASE_URL: '' })
  const withDatabase = async <T>(
    work: (database: Awaited<ReturnType<typeof openDatabase>>['database']) => Promise<T>,
  ) => {
    const opened = await openDatabase(
      databaseTarget(testSettings({ PORTICO_DATA_DIR: store.directory }), () => undefined),
    )
    try {
      return await work(opened.database)
    } finally {
      await opened.close()
    }
  }

  test('operator revoke and grant: change the permissions, with audit entries and mails', async () => {
    const change = ['--email', email, '--permissions', 'ledger:read, audit:read', '--reason', 'a test']
    const revoked = await portico('operator', 'revoke', ...change)
    expect(revoked, revoked.err).toMatchObject({ code: 0, err: '' })
    expect(revoked.out).not.toContain('ledger:read')
    const again = await portico('operator', 'revoke', ...change)
    expect([again.code, again.out]).toEqual([1, ''])
    expect(again.err).toContain('nothing was changed')
    const granted = await portico('operator', 'grant', ...change)
    expect(granted.out).toContain('ledger:read,audit:read')
    await withDatabase(async (database) => {
      const entries = database
        .selectFrom('audit_log')
        .select(['action', 'actorBizId', sql<string>`detail ->> 'reason'`.as('reason')])
      expect(await entries.where('action', 'like', 'operator %').orderBy('at').execute()).toEqual([
        { action: 'operator revoke', actorBizId: null, reason: 'a test' },
        { action: 'operator grant', actorBizId: null, reason: 'a test' },
      ])
      const mails = database
        .selectFrom('jobs')
        .select(sql<string>`payload ->> 'reason'`.as('reason'))
        .where('kind', '=', 'proposals.notice')
      expect(await mails.execute()).toEqual(Array(4).fill({ reason: 'portico CLI: a test' }))
    })
  })

  test('owner restore: only for a workspace without an owner who can run it', async () => {
    const args = ['owner', 'restore', '--workspace', workspace, '--email', 'member@demo.test', '--reason', 'a test']
    const refused = await portico(...args)
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('has an owner')])
    await withDatabase((database) =>
      database
        .updateTable('accounts')
        .set({ accountStatus: 'SUSPENDED' })
        .where('emailCanonical', '=', 'owner@demo.test')
        .execute(),
    )
    const restored = await portico(...args)
    expect(restored, restored.err).toMatchObject({ code: 0 })
    await withDatabase(async (database) => {
      const owners = database
        .selectFrom('memberships as m')
        .innerJoin('roles as r', 'r.bizId', 'm.roleBizId')
        .innerJoin('accounts as a', 'a.bizId', 'm.accountBizId')
        .where('m.workspaceBizId', '=', workspace)
        .where('r.roleType', '=', 'OWNER')
        .select('a.emailCanonical as email')
      const emails = (await owners.execute()).map((owner) => owner.email)
      expect(emails.toSorted()).toEqual(['member@demo.test', 'owner@demo.test'])
      const entries = database.selectFrom('audit_log').select(['workspaceBizId', 'targetBizId', 'detail'])
      expect(await entries.where('action', '=', 'owner restore').execute()).toEqual([
        { workspaceBizId: workspace, targetBizId: workspace, detail: expect.objectContaining({ reason: 'a test' }) },
      ])
    })
  })

  test.each([
    ['no e-mail address', ['operator', 'grant', '--permissions', 'audit:read'], '--email is required'],
    ['no reason', ['operator', 'grant', '--email', email, '--permissions', 'audit:read'], '--reason is required'],
    ['no permissions', ['operator', 'grant', '--email', email], '--permissions is required'],
    [
      'an unknown permission',
      ['operator', 'revoke', '--email', email, '--permissions', 'all:things', '--reason', 'x'],
      'all:things',
    ],
    ['a malformed workspace', ['owner', 'restore', '--email', email, '--workspace', 'mine'], '--workspace must be'],
  ])('refuses %s: exit code 2', async (_name, args, message) => {
    const { code, out, err } = await portico(...args)
    expect([code, out]).toEqual([2, ''])
    expect(err).toContain(message)
  })
})
