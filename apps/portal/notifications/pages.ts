import type { AppPage } from '../../kit/pages.tsx'

export const pages: readonly AppPage[] = [
  {
    path: '/notifications',
    load: () => import('./notifications.tsx'),
    permission: 'event:read',
    entry: 'notifications.title',
  },
]
