import type { AppPage } from '../../kit/pages.tsx'

export const pages: readonly AppPage[] = [
  { path: '/rates', load: () => import('./rates.tsx'), permission: 'exchange-rate:read', entry: 'rates.title' },
]
