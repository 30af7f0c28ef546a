import type { AppPage } from '../../kit/pages.tsx'

export const pages: readonly AppPage[] = [
  { path: '/operators', load: () => import('./operators.tsx'), permission: 'operator:read', entry: 'operators.title' },
  { path: '/operators/:accountId', load: () => import('./operator.tsx'), permission: 'operator:read' },
]
