/**
 * Recharges: payments into a wallet. A workspace announces a payment and can submit a proof. An operator confirms or
 * rejects it. An unpaid recharge expires. Start reading in `contract.ts` and `service.ts`.
 */
import { declaredBy, domain } from '../../api/domain.ts'
import type { Tx } from '../../database/index.ts'
import type { HandlerTable, Words, WorkspaceId } from '../../kernel/index.ts'
import { orderEvents } from '../../ledger/index.ts'
import type { EventMapper } from '../../platform/events/index.ts'
import type { JobKind } from '../../platform/jobs/index.ts'
import * as contract from './contract.ts'
import { expiryIntervalMs, runExpiryJob } from './expiry.ts'
import { createHandlers } from './handlers.ts'
import {
  type ChannelSettings,
  checkRechargeSettings,
  parseChannels,
  rechargeDefaults,
  rechargeSettings,
} from './rules.ts'
import { migrations } from './schema/index.ts'
import type { RechargesPorts } from './service.ts'
import { deleteProofsAndReferences } from './store.ts'
import { toRechargeView } from './view.ts'

export type RechargesOptions = Omit<RechargesPorts, 'channels' | 'lifeMs' | 'referenceRequired'> & {
  words: Words
  settings: { lifeMs: number; referenceRequired: boolean; channels: readonly ChannelSettings[] }
}

export interface Recharges {
  handlers: HandlerTable
  jobs: JobKind[]
  events: EventMapper[]
  clean(tx: Tx, reset: { workspaceId: WorkspaceId }): Promise<void>
}

/** Throws a RangeError for an invalid amount in the settings. */
export function createRecharges({ settings, ...infrastructure }: RechargesOptions): Recharges {
  const { lifeMs, referenceRequired } = settings
  const ports = { ...infrastructure, channels: parseChannels(settings.channels), lifeMs, referenceRequired }
  return {
    handlers: createHandlers(ports),
    events: [orderEvents(contract.recharges, ports.words, toRechargeView)],
    jobs: [
      {
        name: contract.expiryJob,
        attempts: 1,
        everyMs: expiryIntervalMs,
        work: (_, facts) => runExpiryJob(ports, facts),
      },
    ],
    clean: (tx, { workspaceId }) => deleteProofsAndReferences(tx, workspaceId),
  }
}

const ownerNotices = ['RECHARGE_CORRECTED'] as const

declare module '../../api/notices.ts' {
  interface NoticesByDomain {
    recharges: typeof ownerNotices
  }
}

export default domain({
  name: 'recharges',
  ...declaredBy(contract),
  locales: new URL('./locales/', import.meta.url),
  migrations,
  ownerNotices,
  settings: rechargeSettings,
  settingsKey: 'money.recharge',
  defaults: rechargeDefaults,
  checkSettings: checkRechargeSettings,
  productionRules: { referenceRequired: 'fixed' },
  uses: ['members', 'wallets', 'files'],
  needs: ['blobs', 'clock', 'database', 'ledger', 'once', 'transaction', 'words'],
  create: ({ use, ...ports }) => {
    const { fileOf, keepAsProof, serves } = use('files')
    const { clean, ...parts } = createRecharges({
      ...ports,
      notices: use('members').notices,
      fileOf,
      keepAsProof,
      isProof: (file) => serves('RECHARGE_PROOF', file),
    })
    return { ...parts, onSandboxReset: clean }
  },
})
