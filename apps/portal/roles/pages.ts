import type { AppPage } from '../../kit/pages.tsx'

export const pages: readonly AppPage[] = [
  { path: '/roles', load: () => import('./roles.tsx'), permission: 'role:read', entry: 'roles.title' },
  { path: '/roles/new', load: () => import('./new-role.tsx'), permission: 'role:manage' },
  { path: '/roles/:role', load: () => import('./role.tsx'), permission: 'role:read' },
]
