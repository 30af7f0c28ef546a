import type { AppPage } from '../../kit/pages.tsx'

export const pages: readonly AppPage[] = [
  { path: '/wallets', load: () => import('./wallets.tsx'), permission: 'wallet:read', entry: 'wallets.title' },
]
