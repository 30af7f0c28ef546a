import type { AppPage } from '../../kit/pages.tsx'

export const pages: readonly AppPage[] = [
  { path: '/members', load: () => import('./members.tsx'), permission: 'member:read', entry: 'members.title' },
  {
    path: '/invitations',
    load: () => import('./invitations.tsx'),
    permission: 'invitation:read',
    entry: 'members.invitations',
  },
  {
    path: '/invitations/new',
    load: () => import('./new-invitation.tsx'),
    permission: 'invitation:manage',
  },
  { path: '/my-invitations', load: () => import('./my-invitations-page.tsx'), entry: 'members.myInvitations' },
]
