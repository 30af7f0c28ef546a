import type { AppPage } from '../../kit/pages.tsx'

export const pages: readonly AppPage[] = [
  {
    path: '/requests',
    load: () => import('./requests.tsx'),
    permission: 'gateway:observe',
    entry: 'requests.title',
  },
  { path: '/requests/decisions', load: () => import('./request.tsx'), permission: 'gateway:observe' },
]
