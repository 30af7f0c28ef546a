import type { AppPage } from '../../kit/pages.tsx'

export const pages: readonly AppPage[] = [
  {
    path: '/withdrawals',
    load: () => import('./withdrawals.tsx'),
    permission: 'withdrawal:read',
    entry: 'withdrawals.title',
  },
  { path: '/withdrawals/new', load: () => import('./new-withdrawal.tsx'), permission: 'withdrawal:create' },
  {
    path: '/payout-accounts',
    load: () => import('./accounts.tsx'),
    permission: 'withdrawal-channel:read',
    entry: 'withdrawals.accounts',
  },
  {
    path: '/payout-accounts/new',
    load: () => import('./new-account.tsx'),
    permission: 'withdrawal-channel:manage',
  },
  { path: '/withdrawals/:withdrawalId', load: () => import('./withdrawal.tsx'), permission: 'withdrawal:read' },
]
