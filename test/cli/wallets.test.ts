import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databaseTarget } from '../../src/compose/store.ts'
import { openDatabase } from '../../src/database/index.ts'
import { developmentIds } from '../../src/seed/development.ts'
import { runCli } from '../harness/cli.ts'
import { testSettings } from '../harness/settings.ts'
import { seededDirectory } from '../harness/template.ts'

const { workspace } = developmentIds

describe('portico wallet open', () => {
  let store: Awaited<ReturnType<typeof seededDirectory>>
  beforeAll(async () => {
    store = await seededDirectory()
  })
  afterAll(() => store?.remove())

  const open = (...args: string[]) =>
    runCli(
      ['wallet', 'open', '--reason', 'a test', ...args],
      { money: { currencies: ['USD', 'EUR', 'JPY', 'BHD', 'BTC', 'ETH', 'GBP', 'CHF'] } },
      { PORTICO_DATA_DIR: store.directory },
    )
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
  const setStatus = (status: 'ACTIVE' | 'FROZEN') =>
    withDatabase((database) =>
      database.updateTable('workspaces').set({ workspaceStatus: status }).where('bizId', '=', workspace).execute(),
    )

  test('--workspace: opens the wallet with an audit entry; a second run changes nothing', async () => {
    const args = ['--workspace', workspace, '--currency', 'GBP']
    const opened = await open(...args)
    expect(opened, opened.err).toMatchObject({ code: 0, out: 'opened a wallet in GBP\n' })
    const again = await open(...args)
    expect([again.code, again.out]).toEqual([1, ''])
    expect(again.err).toContain('nothing was changed')
    await withDatabase(async (database) => {
      const wallets = database.selectFrom('wallets').select(['bizId', 'isDefault']).where('currency', '=', 'GBP')
      const [wallet, ...others] = await wallets.where('workspaceBizId', '=', workspace).execute()
      expect([wallet?.isDefault, others]).toEqual([true, []])
      const entries = database.selectFrom('audit_log').select(['workspaceBizId', 'targetBizId', 'detail'])
      expect(await entries.where('action', '=', 'wallet open').execute()).toEqual([
        { workspaceBizId: workspace, targetBizId: wallet?.bizId, detail: { currency: 'GBP', reason: 'a test' } },
      ])
      const house = database.selectFrom('ledger_accounts').select('kind').where('workspaceBizId', 'is', null)
      const kinds = await house.where('currency', '=', 'GBP').execute()
      expect(kinds.map(({ kind }) => kind).sort()).toEqual(['CLEARING', 'FEE', 'LIQUIDITY'])
    })
  })

  test('--all-workspaces: skips frozen workspaces, and continues where an earlier run ended', async () => {
    const total = await withDatabase((database) => database.selectFrom('workspaces').select('bizId').execute())
    await setStatus('FROZEN')
    const refused = await open('--workspace', workspace, '--currency', 'CHF')
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('is frozen')])
    const first = await open('--all-workspaces', '--currency', 'CHF')
    expect(first, first.err).toMatchObject({ code: 0 })
    expect(first.out).toContain(`opened ${total.length - 1} wallets in CHF\nskipped 1 frozen workspaces`)
    await setStatus('ACTIVE')
    expect((await open('--all-workspaces', '--currency', 'CHF')).out).toBe('opened 1 wallets in CHF\n')
    expect((await open('--all-workspaces', '--currency', 'CHF')).out).toBe('opened 0 wallets in CHF\n')
  })

  test('--workspace and --all-workspaces: replace a closed wallet, once', async () => {
    const close = () =>
      withDatabase((database) =>
        database
          .updateTable('ledger_accounts')
          .set({ status: 'CLOSED' })
          .where('workspaceBizId', '=', workspace)
          .where('currency', '=', 'GBP')
          .execute(),
      )
    await close()
    expect((await open('--workspace', workspace, '--currency', 'GBP')).out).toBe('opened a wallet in GBP\n')
    expect((await open('--workspace', workspace, '--currency', 'GBP')).code).toBe(1)
    await open('--all-workspaces', '--currency', 'GBP')
    await close()
    expect((await open('--all-workspaces', '--currency', 'GBP')).out).toBe('opened 1 wallets in GBP\n')
    expect((await open('--all-workspaces', '--currency', 'GBP')).out).toBe('opened 0 wallets in GBP\n')
    await withDatabase(async (database) => {
      const wallets = database.selectFrom('wallets').select('isDefault').where('currency', '=', 'GBP')
      const rows = await wallets.where('workspaceBizId', '=', workspace).orderBy('createdAt').execute()
      expect(rows.map(({ isDefault }) => isDefault)).toEqual([false, false, true])
    })
  })

  test.each([
    ['no currency', ['--all-workspaces'], '--currency is required'],
    ['a currency that is not configured', ['--all-workspaces', '--currency', 'SEK'], 'one of USD, EUR, JPY'],
    ['a malformed workspace', ['--workspace', 'mine', '--currency', 'GBP'], '--workspace must be the id'],
    ['neither workspace nor all', ['--currency', 'GBP'], 'either --workspace or --all-workspaces'],
    ['both', ['--workspace', workspace, '--all-workspaces', '--currency', 'GBP'], 'either'],
  ])('refuses %s: exit code 2', async (_name, args, message) => {
    const { code, out, err } = await open(...args)
    expect([code, out]).toEqual([2, ''])
    expect(err).toContain(message)
  })
})
