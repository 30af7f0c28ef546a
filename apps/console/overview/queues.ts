import {
  listAccounts,
  listAllRecharges,
  listAllTransfers,
  listAllWithdrawalChannels,
  listAllWithdrawals,
  listProposals,
  type Overview,
} from 'portal-client'
import { client } from '../../kit/client.ts'

export type Queue = Overview['queues'][number] & {
  /** More wait than were counted. */
  isCut?: boolean
}
type QueueName = Queue['queue']

/** Pages of the queues, which show first what waits. */
export const paths: Readonly<Record<QueueName, string>> = {
  TRANSFER_APPROVAL: '/queues/transfers',
  RECHARGE_CONFIRMATION: '/queues/recharges',
  WITHDRAWAL_APPROVAL: '/queues/withdrawals',
  WITHDRAWAL_SETTLEMENT: '/queues/withdrawals?status=PROCESSING',
  PAYOUT_ACCOUNT_VERIFICATION: '/queues/payout-accounts',
  ACCOUNT_APPROVAL: '/accounts?status=PENDING_APPROVAL',
  PROPOSAL_CONFIRMATION: '/queues/proposals',
}

/** A queue for operators who cannot read the overview of the gateway. */
export interface ListedQueue {
  queue: QueueName
  listPermission: string
  decidePermissions: readonly string[]
  /** The items that have waited longest. */
  read(): Promise<{ items: readonly { createdAt: string }[]; nextCursor?: string | null | undefined }>
}

const longest = { sortOrder: 'asc', before: 'start', pageSize: 100 } as const

export const listedQueues: readonly ListedQueue[] = [
  {
    queue: 'TRANSFER_APPROVAL',
    listPermission: 'transfer:read',
    decidePermissions: ['transfer:approve'],
    read: () => client.call(listAllTransfers, { query: { ...longest, transferStatus: 'PENDING_APPROVAL' } }),
  },
  {
    queue: 'RECHARGE_CONFIRMATION',
    listPermission: 'recharge:read',
    decidePermissions: ['recharge:approve'],
    read: () => client.call(listAllRecharges, { query: { ...longest, rechargeStatus: 'PROOF_SUBMITTED' } }),
  },
  {
    queue: 'WITHDRAWAL_APPROVAL',
    listPermission: 'withdrawal:read',
    decidePermissions: ['withdrawal:approve'],
    read: () => client.call(listAllWithdrawals, { query: { ...longest, withdrawalStatus: 'PENDING_APPROVAL' } }),
  },
  {
    queue: 'WITHDRAWAL_SETTLEMENT',
    listPermission: 'withdrawal:read',
    decidePermissions: ['withdrawal:settle'],
    read: () => client.call(listAllWithdrawals, { query: { ...longest, withdrawalStatus: 'PROCESSING' } }),
  },
  {
    queue: 'PAYOUT_ACCOUNT_VERIFICATION',
    listPermission: 'withdrawal-channel:read',
    decidePermissions: ['withdrawal-channel:verify'],
    read: () =>
      client.call(listAllWithdrawalChannels, { query: { ...longest, channelStatus: 'PENDING_VERIFICATION' } }),
  },
  {
    queue: 'ACCOUNT_APPROVAL',
    listPermission: 'account:read',
    decidePermissions: ['account:approve'],
    read: () => client.call(listAccounts, { query: { ...longest, accountStatus: 'PENDING_APPROVAL' } }),
  },
  {
    queue: 'PROPOSAL_CONFIRMATION',
    listPermission: 'operator:read',
    decidePermissions: ['operator:manage', 'recovery:manage'],
    read: () => client.call(listProposals, { query: { ...longest, proposalStatus: 'PENDING' } }),
  },
]
