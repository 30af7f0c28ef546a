import type { AppPage } from '../../kit/pages.tsx'

export const pages: readonly AppPage[] = [
  {
    path: '/accounts',
    load: () => import('./accounts.tsx'),
    permission: 'account:read',
    entry: 'accounts.title',
  },
  { path: '/accounts/:accountId', load: () => import('./account.tsx'), permission: 'account:read' },
]
