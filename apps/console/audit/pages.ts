import type { AppPage } from '../../kit/pages.tsx'

export const pages: readonly AppPage[] = [
  { path: '/audit', load: () => import('./audit.tsx'), permission: 'audit:read', entry: 'audit.title' },
]
