import type { AppPage } from '../../kit/pages.tsx'

export const pages: readonly AppPage[] = [
  { path: '/webhooks', load: () => import('./webhooks.tsx'), permission: 'webhook:read', entry: 'webhooks.title' },
  { path: '/webhooks/:webhookId', load: () => import('./webhook.tsx'), permission: 'webhook:read' },
]
