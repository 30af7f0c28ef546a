import type { AppPage } from '../../kit/pages.tsx'

export const pages: readonly AppPage[] = [
  { path: '/exports', load: () => import('./exports.tsx'), permission: 'export:read', entry: 'exports.title' },
  { path: '/exports/new', load: () => import('./new-export.tsx'), permission: 'export:create' },
]
