/*
 * An extension: loan applications of a workspace, which operators approve. docs/guides/extension.md explains it.
 * portico.yaml loads it.
 */
import {
  auditContextOf,
  domain,
  formatMoney,
  notFound,
  parseMoney,
  Refusal,
  recordSuccess,
  sql,
  toIso,
} from 'portico'
import {
  amount,
  bizId,
  coded,
  codedFamily,
  currency,
  decimal,
  decision,
  id,
  member,
  money,
  moneyOf,
  operation,
  timestamp,
  z,
} from 'portico/contract'

const loanStatus = codedFamily('loanStatus', { REQUESTED: 20000101, APPROVED: 20000102 })

const Loan = z.object({
  bizId,
  amount: decimal,
  currency: z.string(),
  loanStatus: coded(loanStatus),
  createdAt: timestamp,
})

const applyForLoan = operation({
  id: 'loans.apply',
  method: 'POST',
  path: '/loans',
  chains: ['consumer', 'api'],
  summary: 'Apply for a loan',
  policy: { ...money, workspace: 'required', permission: 'loan:create' },
  body: z.strictObject({ amount, currency }),
  reply: Loan,
  refuses: ['LOAN.NOT_ELIGIBLE'],
})

const listLoans = operation({
  id: 'loans.list',
  method: 'GET',
  path: '/loans',
  chains: ['consumer', 'api'],
  summary: 'List the 100 newest loans of a workspace',
  policy: { ...member, workspace: 'required', permission: 'loan:read' },
  body: 'none',
  reply: z.array(Loan),
  refuses: [],
})

const approveLoan = operation({
  id: 'loans.approve',
  method: 'POST',
  path: '/loans/{loan_id}/approve',
  chains: ['system'],
  summary: 'Approve a loan',
  policy: { ...decision, permission: 'loan:approve' },
  params: { loan_id: id },
  body: 'none',
  reply: Loan,
  refuses: ['RESOURCE.NOT_FOUND', 'STATE.CONFLICT'],
})

const createTable = {
  name: '001-loans',
  up: async (tx) => {
    await sql`CREATE TABLE loans (
      workspace_biz_id uuid NOT NULL REFERENCES workspaces,
      biz_id uuid NOT NULL,
      amount numeric NOT NULL CHECK (amount > 0),
      currency text NOT NULL,
      status text NOT NULL,
      created_by uuid NOT NULL,
      created_at timestamptz NOT NULL,
      PRIMARY KEY (workspace_biz_id, biz_id)
    )`.execute(tx)
    await sql`CREATE INDEX loans_biz_id ON loans (biz_id)`.execute(tx)
    await sql`CREATE INDEX loans_list ON loans (workspace_biz_id, created_at)`.execute(tx)
  },
}

export default domain({
  name: 'loans',
  summary: 'Loans of a workspace. Operators approve them.',
  operations: { applyForLoan, listLoans, approveLoan },
  permissions: { workspace: { loan: ['read', 'create'] }, operator: { loan: ['approve'] } },
  codes: { 'LOAN.NOT_ELIGIBLE': { status: 422 } },
  codedValues: { loanStatus: loanStatus.values },
  locales: new URL('./locales/', import.meta.url),
  settings: z.strictObject({ maxAmount: z.string().regex(/^\d+\.\d\d$/) }),
  migrations: [createTable],

  create: ({ database, once, ledger, clock, ids, words, settings }) => {
    const view = (loan, locale) => ({
      bizId: loan.biz_id,
      amount: formatMoney({ minor: loan.amount, currency: loan.currency }),
      currency: loan.currency,
      loanStatus: words.coded(loanStatus, loan.status, locale),
      createdAt: toIso(loan.created_at),
    })

    return {
      handlers: {
        applyForLoan: (request) =>
          once(request, async (tx) => {
            const { body, caller, workspace, locale } = request
            const requested = moneyOf(body.amount, body.currency)
            const max = parseMoney(settings.maxAmount, body.currency)
            if (!max || requested.minor > max.minor) throw new Refusal('LOAN.NOT_ELIGIBLE', { internal: 'above maxAmount' })
            const { rows } = await sql`
              INSERT INTO loans (workspace_biz_id, biz_id, amount, currency, status, created_by, created_at)
              VALUES (${workspace.id}, ${ids.next()}, ${String(requested.minor)}, ${body.currency}, 'REQUESTED',
                ${caller.accountId}, ${new Date(clock.now())})
              RETURNING *`.execute(tx)
            await recordSuccess(tx, auditContextOf(request), { workspaceId: workspace.id, targetId: rows[0].biz_id })
            return view(rows[0], locale)
          }),

        listLoans: async ({ workspace, locale }) => {
          const { rows } = await sql`
            SELECT * FROM loans WHERE workspace_biz_id = ${workspace.id} ORDER BY created_at DESC LIMIT 100`.execute(database)
          return rows.map((loan) => view(loan, locale))
        },

        approveLoan: (request) =>
          once(request, async (tx) => {
            const { params, caller, locale } = request
            const { rows } = await sql`SELECT * FROM loans WHERE biz_id = ${params.loan_id} FOR UPDATE`.execute(tx)
            const loan = rows[0]
            if (!loan) throw notFound()
            // A person can have an account on both portals, so comparing the account ids is not enough.
            await ledger.within(tx).assertDifferentPerson(loan.created_by, caller.accountId)
            if (loan.status !== 'REQUESTED') throw new Refusal('STATE.CONFLICT')
            const workspaceId = loan.workspace_biz_id
            await sql`
              UPDATE loans SET status = 'APPROVED'
              WHERE workspace_biz_id = ${workspaceId} AND biz_id = ${loan.biz_id}`.execute(tx)
            await recordSuccess(tx, auditContextOf(request), { workspaceId, targetId: loan.biz_id })
            return view({ ...loan, status: 'APPROVED' }, locale)
          }),
      },
      onSandboxReset: async (tx, { workspaceId }) => {
        await sql`DELETE FROM loans WHERE workspace_biz_id = ${workspaceId}`.execute(tx)
      },
    }
  },
})
