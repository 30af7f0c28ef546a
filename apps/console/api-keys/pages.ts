import type { AppPage } from '../../kit/pages.tsx'

export const pages: readonly AppPage[] = [
  { path: '/api-keys', load: () => import('./workspace-keys.tsx'), permission: 'api-key:end', entry: 'api-keys.title' },
  {
    path: '/operator-keys',
    load: () => import('./operator-keys.tsx'),
    permission: 'operator-key:read',
    entry: 'api-keys.ofOperators',
  },
]
