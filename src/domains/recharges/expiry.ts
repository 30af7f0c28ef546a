import { Refusal } from '../../kernel/index.ts'
import { rechargeRunsOut } from '../../ledger/index.ts'
import type { JobFacts } from '../../platform/jobs/index.ts'
import { expiry } from './commands.ts'
import type { RechargesPorts } from './service.ts'

export const expiryJob = 'recharges.expire'

const most = 200

/** Ends what was not paid in time, the oldest first. One that somebody has moved meanwhile is left as it stands. */
export const expire = async (
  { ledger, clock }: Pick<RechargesPorts, 'ledger' | 'clock'>,
  { jobId, signal }: Pick<JobFacts, 'jobId' | 'signal'>,
): Promise<void> => {
  const audit = { portal: 'SYSTEM', action: expiryJob, requestId: jobId, clientIp: '' } as const
  const due = { type: 'RECHARGE', status: rechargeRunsOut.from, workspace: null, most } as const
  for (let found = most; found === most && !signal.aborted; ) {
    const orders = await ledger.listDueOrders({ ...due, at: clock.now() })
    found = orders.length
    for (const id of orders) {
      if (signal.aborted) return
      try {
        await ledger.execute({ actor: null, audit, parties: [], move: expiry(id) })
      } catch (error) {
        if (!(error instanceof Refusal) || error.code !== 'STATE.CONFLICT') throw error
      }
    }
  }
}
