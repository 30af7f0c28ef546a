import type { AppPage } from '../../kit/pages.tsx'

export const pages: readonly AppPage[] = [
  {
    path: '/queues/transfers',
    load: () => import('./lists/transfers.tsx'),
    permission: 'transfer:read',
    entry: 'queues.transfers',
  },
  { path: '/queues/transfers/:id', load: () => import('./decisions/transfer.tsx'), permission: 'transfer:read' },
  {
    path: '/queues/recharges',
    load: () => import('./lists/recharges.tsx'),
    permission: 'recharge:read',
    entry: 'queues.recharges',
  },
  { path: '/queues/recharges/:id', load: () => import('./decisions/recharge.tsx'), permission: 'recharge:read' },
  {
    path: '/queues/withdrawals',
    load: () => import('./lists/withdrawals.tsx'),
    permission: 'withdrawal:read',
    entry: 'queues.withdrawals',
  },
  { path: '/queues/withdrawals/:id', load: () => import('./decisions/withdrawal.tsx'), permission: 'withdrawal:read' },
  {
    path: '/queues/payout-accounts',
    load: () => import('./lists/payout-accounts.tsx'),
    permission: 'withdrawal-channel:read',
    entry: 'queues.payoutAccounts',
  },
  {
    path: '/queues/payout-accounts/:id',
    load: () => import('./decisions/payout-account.tsx'),
    permission: 'withdrawal-channel:read',
  },
  {
    path: '/queues/proposals',
    load: () => import('./lists/proposals.tsx'),
    permission: 'operator:read',
    entry: 'queues.proposals',
  },
  { path: '/queues/proposals/:id', load: () => import('./decisions/proposal.tsx'), permission: 'operator:read' },
]
