import type { AppPage } from '../../kit/pages.tsx'

export const pages: readonly AppPage[] = [
  { path: '/recharges', load: () => import('./recharges.tsx'), permission: 'recharge:read', entry: 'recharges.title' },
  { path: '/recharges/new', load: () => import('./new-recharge.tsx'), permission: 'recharge:create' },
  { path: '/recharges/:rechargeId', load: () => import('./recharge.tsx'), permission: 'recharge:read' },
]
