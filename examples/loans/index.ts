/*
 * A domain of loans: members apply for a loan, an operator who is another person approves it and pays it out, and members repay
 * it. ledger.ts declares the orders that move the money.
 * docs/guides/extension.md explains it. `main.ts` starts a gateway with it; `portico.yaml` adds it to the released program.
 */
import {
  addMs,
  auditContextOf,
  bizId,
  domain,
  enqueueJob,
  formatMoney,
  type Locale,
  notFound,
  parseMoney,
  Refusal,
  recordSuccess,
  toIso,
} from 'portico'
import { amount, currency, moneyOf, z } from 'portico/contract'
import * as contract from './contract.ts'
import { ledgerTypes, payout, repayment } from './ledger.ts'
import {
  deleteLoans,
  expireLoans,
  insertLoan,
  type LoanRow,
  listLoans,
  lockLoan,
  migrations,
  updateLoan,
} from './store.ts'

const hourMs = 3_600_000

const PaidOut = z.object({ accountId: z.string(), amount: z.string() })

export default domain({
  name: 'loans',
  summary: 'Loans of a workspace. Operators approve them.',
  operations: contract,
  permissions: { workspace: { loan: ['read', 'create', 'repay'] }, operator: { loan: ['approve'] } },
  codes: contract.codes,
  codedValues: { loanStatus: contract.loanStatus.values },
  ledger: ledgerTypes,
  locales: new URL('./locales/', import.meta.url),
  mails: { directory: new URL('./mails/', import.meta.url), templates: { 'paid-out': ['amount', 'url'] } },
  settings: z.strictObject({
    maxAmount: z.string().regex(/^\d+\.\d\d$/),
    waitHours: z.int().min(1).default(720),
    /** The money that the house lends, by currency. */
    capital: z.record(currency, amount).default({}),
  }),
  migrations,

  needs: ['accounts', 'clock', 'database', 'ids', 'ledger', 'mailer', 'once', 'signInUrl', 'words'],
  create: async ({ accounts, clock, database, ids, ledger, mailer, once, settings, signInUrl, words }) => {
    await ledger.provideFunds(
      'LOANS',
      Object.entries(settings.capital).map(([code, text]) => moneyOf(text, code)),
    )

    const toView = (loan: LoanRow, locale: Locale) => ({
      bizId: loan.bizId,
      amount: formatMoney({ minor: loan.amount, currency: loan.currency }),
      repaidAmount: formatMoney({ minor: loan.repaid, currency: loan.currency }),
      currency: loan.currency,
      loanStatus: words.coded(contract.loanStatus, loan.status, locale),
      createdAt: toIso(loan.createdAt),
    })

    const mailPaidOut = async (payload: unknown): Promise<void> => {
      const { accountId, amount } = PaidOut.parse(payload)
      const account = await accounts.read('CONSUMER', bizId<'account'>(accountId))
      if (!account) return
      const values = { amount, url: signInUrl('CONSUMER') }
      await mailer.send({ to: account.email, template: 'loans.paid-out', locale: account.locale, values })
    }

    return {
      handlers: {
        applyForLoan: (request) =>
          once(request, async (tx) => {
            const { body, caller, workspace, locale } = request
            const { minor, currency } = body.amount
            const max = parseMoney(settings.maxAmount, currency)
            const wallet = await ledger
              .within(tx)
              .readDefaultWallet({ workspace: workspace.id, currency })
            if (!max || minor > max.minor)
              throw new Refusal('LOAN.NOT_ELIGIBLE', { internal: 'above maxAmount' })
            if (!wallet) throw new Refusal('LOAN.NOT_ELIGIBLE', { internal: 'no default wallet in the currency' })
            const loan = await insertLoan(tx, {
              workspaceBizId: workspace.id,
              bizId: ids.next(),
              amount: minor,
              currency,
              createdBy: caller.accountId,
              createdAt: clock.now(),
            })
            return toView(loan, locale)
          }),

        listLoans: async ({ workspace, locale }) =>
          (await listLoans(database, workspace.id)).map((loan) => toView(loan, locale)),

        approveLoan: (request) =>
          once(request, async (tx) => {
            const { caller, locale, receivedAt } = request
            const loan = await lockLoan(tx, request.params.loan_id, null)
            if (!loan) throw notFound()
            const within = ledger.within(tx)
            // A person can have an account on both portals, so comparing the account ids is not enough.
            await within.assertDifferentPerson(loan.createdBy, caller.accountId)
            const workspace = loan.workspaceBizId
            const wallet = await within.readDefaultWallet({ workspace, currency: loan.currency })
            if (loan.status !== 'REQUESTED' || !wallet) throw new Refusal('STATE.CONFLICT')
            const money = { minor: loan.amount, currency: loan.currency }
            await within.execute(payout({ loan, wallet: wallet.bizId, amount: loan.amount, actor: caller.accountId }))
            const paidOut = { ...loan, status: 'PAID_OUT' as const }
            await updateLoan(tx, paidOut)
            // The request of an operator names no workspace, so `once` cannot record it.
            await recordSuccess(tx, auditContextOf(request), { workspaceId: workspace, targetId: loan.bizId })
            // The job and the payment share one transaction, so a mail is sent if and only if the loan was paid out.
            const payload = { accountId: loan.createdBy, amount: `${formatMoney(money)} ${loan.currency}` }
            await enqueueJob(tx, ids, { kind: 'loans.mailPaidOut', payload, at: receivedAt })
            return toView(paidOut, locale)
          }),

        repayLoan: (request) =>
          once(request, async (tx) => {
            const { body, caller, locale, params, workspace } = request
            // The lock on the row makes parallel repayments wait for each other.
            const loan = await lockLoan(tx, params.loan_id, workspace.id)
            if (!loan) throw notFound()
            const within = ledger.within(tx)
            const wallet = await within.readDefaultWallet({ workspace: workspace.id, currency: loan.currency })
            if (loan.status !== 'PAID_OUT' || !wallet) throw new Refusal('STATE.CONFLICT')
            const { minor } = moneyOf(body.amount, loan.currency)
            const repaid = loan.repaid + minor
            if (repaid > loan.amount) throw new Refusal('LOAN.OVERPAID')
            await within.execute(repayment({ loan, wallet: wallet.bizId, amount: minor, actor: caller.accountId }))
            const changed = { ...loan, repaid, status: repaid === loan.amount ? ('REPAID' as const) : loan.status }
            await updateLoan(tx, changed)
            return toView(changed, locale)
          }),
      },
      jobs: [
        {
          name: 'loans.expire',
          attempts: 1,
          everyMs: hourMs,
          work: () => expireLoans(database, addMs(clock.now(), -settings.waitHours * hourMs)),
        },
      ],
      gatewayJobs: [{ name: 'loans.mailPaidOut', attempts: 10, work: mailPaidOut }],
      onSandboxReset: (tx, { workspaceId }) => deleteLoans(tx, workspaceId),
    }
  },
})
