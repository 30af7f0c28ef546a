import type { AppPage } from '../../kit/pages.tsx'

export const pages: readonly AppPage[] = [
  { path: '/api-keys', load: () => import('./api-keys.tsx'), permission: 'api-key:read', entry: 'api-keys.title' },
  { path: '/api-keys/new', load: () => import('./new-api-key.tsx'), permission: 'api-key:manage' },
  { path: '/api-keys/:key', load: () => import('./api-key.tsx'), permission: 'api-key:read' },
]
