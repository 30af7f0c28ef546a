import type { AppPage } from '../../kit/pages.tsx'

export const pages: readonly AppPage[] = [
  { path: '/wallets', load: () => import('./wallets.tsx'), permission: 'wallet:read', entry: 'wallets.title' },
  { path: '/wallets/:walletId', load: () => import('./wallet.tsx'), permission: 'wallet:read' },
]
