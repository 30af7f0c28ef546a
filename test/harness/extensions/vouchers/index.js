/* Commands that break the rules of `once`, in JavaScript: test/e2e/once.test.ts. */
import { setTimeout as pause } from 'node:timers/promises'
import { auditContextOf, domain, enqueueJob, Refusal, recordSuccess, sql, sqlMigration } from 'portico'
import { bizId, member, money, operation, z } from 'portico/contract'

const inOwn = { ...member, workspace: 'required', permission: 'wallet:read' }

const operations = {
  issueVoucher: operation({
    id: 'vouchers.issue',
    method: 'POST',
    path: '/vouchers',
    chains: ['consumer'],
    summary: 'Issue a voucher',
    policy: { ...money, workspace: 'required', permission: 'transfer:create' },
    body: z.strictObject({ mistake: z.string() }),
    reply: z.object({ bizId, note: z.string() }),
    refuses: ['VOUCHER.SPENT'],
  }),
  lendVoucher: operation({
    id: 'vouchers.lend',
    method: 'POST',
    path: '/vouchers/lend',
    chains: ['consumer'],
    summary: 'Lend a voucher',
    policy: { ...money, workspace: 'required', permission: 'transfer:create' },
    body: z.strictObject({ forMs: z.int().optional() }),
    reply: z.object({ until: z.iso.datetime().refine((until) => Date.parse(until) > Date.now()), terms: z.unknown() }),
    refuses: [],
  }),
  countVouchers: operation({
    id: 'vouchers.count',
    method: 'GET',
    path: '/vouchers',
    chains: ['consumer'],
    summary: 'Count the vouchers',
    policy: inOwn,
    query: z.strictObject({ mistake: z.string().optional() }),
    body: 'none',
    reply: z.object({ vouchers: z.int(), detached: z.int(), note: z.string() }),
    refuses: [],
  }),
}

function sixMegabytes() {
  return 'x'.repeat(6_000_000)
}
function nested(levels) {
  return levels === 0 ? '' : [nested(levels - 1)]
}

export default domain({
  name: 'vouchers',
  summary: 'Vouchers of a workspace.',
  operations,
  codes: { 'VOUCHER.SPENT': { status: 409 } },
  locales: new URL('./locales/', import.meta.url),
  migrations: [
    sqlMigration('001-vouchers', [
      'CREATE TABLE vouchers (workspace_biz_id uuid NOT NULL REFERENCES workspaces, biz_id uuid PRIMARY KEY, kind text)',
    ]),
  ],
  needs: [
    'accounts',
    'clock',
    'database',
    'ids',
    'inSnapshot',
    'ledger',
    'mailer',
    'once',
    'sessions',
    'transaction',
    'withoutTimeouts',
    'workspaces',
  ],
  create: ({
    accounts,
    clock,
    database,
    ids,
    inSnapshot,
    ledger,
    mailer,
    once,
    sessions,
    transaction,
    withoutTimeouts,
    workspaces,
  }) => {
    const insert = (store, workspace, kind) =>
      sql`INSERT INTO vouchers VALUES (${workspace.id}, ${ids.next()}, ${kind})`.execute(store)
    const count = async (workspace, kind) => {
      const { rows } = await sql`SELECT count(*)::int AS n FROM vouchers
        WHERE workspace_biz_id = ${workspace.id} AND kind = ${kind}`.execute(database)
      return rows[0].n
    }
    const mistakes = {
      forgottenDatabase: async ({ workspace }) => void insert(database, workspace, 'outside'),
      forgottenLedger: async ({ workspace }) => void ledger.listWallets(workspace.id),
      commit: async (_request, tx) => {
        await sql`/* now */ COMMIT`.execute(tx)
        throw new Error('the printer is on fire')
      },
      never: () => new Promise(() => undefined),
      none: async () => undefined,
      database: ({ workspace }) => insert(database, workspace, 'outside'),
      ledger: ({ workspace }) => ledger.listWallets(workspace.id),
      transaction: ({ workspace }) => transaction((tx) => insert(tx, workspace, 'outside')),
      once: (request) => once(request, async () => null),
      withoutTimeouts: ({ workspace }) => withoutTimeouts((store) => insert(store, workspace, 'outside')),
      inSnapshot: () => inSnapshot(async () => null),
      accounts: ({ caller }) => accounts.read('CONSUMER', caller.accountId),
      sessions: ({ caller: { accountId, portal }, clientIp }) =>
        sessions.assertAddressAllowed({ portal, accountId, ipWhitelistEnabled: true }, clientIp),
      workspaces: ({ workspace }) => workspaces.exists(workspace.id),
      mailer: () => mailer.send({ to: 'a@b.test', template: 'login-code', locale: 'en', values: {} }),
      spent: async () => {
        throw new Refusal('VOUCHER.SPENT')
      },
      undeclared: async () => {
        throw new Refusal('STATE.CONFLICT')
      },
      job: (_request, tx) => enqueueJob(tx, ids, { kind: 'vouchers.remid', payload: {}, at: clock.now() }),
      unlistedField: async () => ({ secret: 'internal' }),
      type: async () => ({ note: 7 }),
      size: async () => ({ note: sixMegabytes() }),
      depth: async () => ({ note: nested(1_000) }),
      // The transaction does not wait for it, and has ended by then.
      detached: async ({ workspace }) => void pause(300).then(() => insert(database, workspace, 'detached')),
    }
    return {
      handlers: {
        issueVoucher: async (request) => {
          const { body, workspace } = request
          if (body.mistake === 'forgottenOnce') {
            void once(request, async (tx) => {
              await insert(tx, workspace, 'inside')
              throw new Error('the printer is on fire')
            })
            return { bizId: ids.next(), note: 'paid' }
          }
          if (body.mistake === 'forgottenRejection') void Promise.reject(new Error('nobody awaits this'))
          const reply = await once(request, async (tx) => {
            await insert(tx, workspace, 'inside')
            return { bizId: ids.next(), note: '', ...(await mistakes[body.mistake]?.(request, tx)) }
          })
          if (body.mistake === 'throwsAfterwards') throw new Error('the printer is on fire')
          if (body.mistake === 'refusesAfterwards') throw new Refusal('VOUCHER.SPENT')
          return body.mistake === 'changesAfterwards' ? { ...reply, note: 8 } : reply
        },
        lendVoucher: (request) =>
          once(request, async (tx) => {
            const { body, workspace } = request
            await insert(tx, workspace, 'inside')
            await recordSuccess(tx, auditContextOf(request), {
              workspaceId: workspace.id,
              targetId: null,
              detail: { forMs: body.forMs ?? null },
            })
            const terms = body.forMs === undefined ? undefined : { days: 1, note: undefined }
            return { until: new Date(clock.now() + (body.forMs ?? 60_000)).toISOString(), terms, secret: 'internal' }
          }),
        countVouchers: async ({ query, workspace }) => {
          if (query.mistake === 'undeclared') throw new Refusal('VOUCHER.SPENT')
          return {
            vouchers: (await count(workspace, 'inside')) + (await count(workspace, 'outside')),
            detached: await count(workspace, 'detached'),
            note: query.mistake === 'size' ? sixMegabytes() : '',
          }
        },
      },
      onSandboxReset: async (tx, { workspaceId }) => {
        await sql`DELETE FROM vouchers WHERE workspace_biz_id = ${workspaceId}`.execute(tx)
      },
    }
  },
})
