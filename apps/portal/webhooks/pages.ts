import type { AppPage } from '../../kit/pages.tsx'

export const pages: readonly AppPage[] = [
  { path: '/webhooks', load: () => import('./webhooks.tsx'), permission: 'webhook:read', entry: 'webhooks.title' },
  { path: '/webhooks/new', load: () => import('./new-webhook.tsx'), permission: 'webhook:manage' },
  { path: '/webhooks/:webhook', load: () => import('./webhook.tsx'), permission: 'webhook:read' },
]
