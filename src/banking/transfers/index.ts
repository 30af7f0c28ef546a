/**
 * Transfers between wallets. A transfer moves the funds immediately, or holds them until an operator approves it, its
 * sender cancels it, or it expires. Start
 * reading in `contract.ts` and `handlers.ts`.
 */
import { declaredBy, domain } from '../../api/domain.ts'
import { days, type HandlerTable, minutes, untilNotFull } from '../../kernel/index.ts'
import { expireOrders, expiryBatchSize, orderEvents } from '../../ledger/index.ts'
import type { EventMapper } from '../../platform/events/index.ts'
import type { JobKind } from '../../platform/jobs/index.ts'
import * as contract from './contract.ts'
import { createHandlers, type TransfersPorts } from './handlers.ts'
import { checkTransferSettings, parseTransferRules, type TransferSettings, transferSettings } from './rules.ts'
import { toTransferView } from './view.ts'

export interface TransfersOptions extends TransferSettings, Omit<TransfersPorts, 'rules'> {}

/** Throws a RangeError for an invalid amount in the settings. */
export function createTransfers({ approvalThreshold, fixedFee, ...ports }: TransfersOptions): {
  handlers: HandlerTable
  jobs: JobKind[]
  events: EventMapper[]
} {
  const { ledger, words } = ports
  return {
    handlers: createHandlers({ ...ports, rules: parseTransferRules({ approvalThreshold, fixedFee }) }),
    events: [orderEvents(contract.transfers, words, toTransferView)],
    jobs: [
      {
        name: contract.expiryJob,
        attempts: 1,
        // Reads show an expired transfer as such before the job has recorded it.
        everyMs: minutes(1),
        work: (_, { jobId, signal }) =>
          untilNotFull(expiryBatchSize, signal, () =>
            expireOrders(ledger, contract.transfers, { requestId: jobId, workspace: null, signal }),
          ),
      },
    ],
  }
}

export default domain({
  name: 'transfers',
  ...declaredBy(contract),
  locales: new URL('./locales/', import.meta.url),
  settings: transferSettings,
  settingsKey: 'money',
  defaults: { transferFee: {}, transferApprovalFrom: {}, transferApprovalLifeMs: days(7) },
  checkSettings: checkTransferSettings,
  uses: ['wallets', 'members'],
  needs: ['database', 'ledger', 'words'],
  create: ({ database, ledger, words, use, settings }) => {
    const { memberships } = use('members')
    return createTransfers({
      ledger,
      words,
      assertNotHeld: (member, at, isExempt) =>
        memberships.assertNotHeld(database, member, ['transfer:create'], at, isExempt),
      fixedFee: settings.transferFee,
      approvalThreshold: settings.transferApprovalFrom,
      approvalLifeMs: settings.transferApprovalLifeMs,
    })
  },
})
