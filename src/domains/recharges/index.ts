/**
 * Recharges: payments into a wallet. A workspace announces a payment and can submit a proof. An operator confirms or
 * rejects it. An unpaid recharge expires. Start reading in `contract.ts` and `service.ts`. `order.ts` maps a recharge
 * to an order of the ledger.
 */
import { declaredBy, domain } from '../../api/domain.ts'
import type { HandlerTable, Words } from '../../kernel/index.ts'
import type { JobKind } from '../../platform/jobs/index.ts'
import * as contract from './contract.ts'
import { expiryJob, runExpiryJob } from './expiry.ts'
import { rechargeHandlers } from './handlers.ts'
import { type ChannelSettings, parseChannels } from './rules.ts'
import type { RechargesPorts } from './service.ts'

export type RechargesOptions = Omit<RechargesPorts, 'channels' | 'lifeMs'> & {
  words: Words
  settings: { lifeMs: number; channels: readonly ChannelSettings[] }
  /** Interval of the expiry job. */
  expiryMs: number
}

export interface Recharges {
  handlers: HandlerTable
  jobs: JobKind[]
}

/** Builds the domain. Throws a RangeError for an invalid amount in the settings. */
export const createRecharges = ({ words, settings, expiryMs, ...infrastructure }: RechargesOptions): Recharges => {
  const ports = { ...infrastructure, channels: parseChannels(settings.channels), lifeMs: settings.lifeMs }
  return {
    handlers: rechargeHandlers(ports, words),
    jobs: [{ name: expiryJob, attempts: 1, everyMs: expiryMs, work: (_, facts) => runExpiryJob(ports, facts) }],
  }
}

export default domain({
  name: 'recharges',
  ...declaredBy(contract),
  uses: ['wallets', 'files'],
  create: ({ use, configuration: { money }, ...ports }) => {
    const { fileOf, serves } = use('files')
    return createRecharges({
      ...ports,
      settings: money.recharge,
      expiryMs: money.background.expiryMs,
      fileOf,
      isProof: (file) => serves('RECHARGE_PROOF', file),
    })
  },
})
