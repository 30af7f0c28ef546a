import type { AppPage } from '../pages.tsx'

/** The pages about the own account, which both applications have. */
export const pages: readonly AppPage[] = [
  { path: '/profile', load: () => import('./profile.tsx') },
  { path: '/security', load: () => import('./security.tsx') },
  { path: '/security/sessions', load: () => import('./sessions.tsx') },
  { path: '/security/history', load: () => import('./history.tsx') },
  { path: '/security/password', load: () => import('./password.tsx') },
  { path: '/security/authenticator', load: () => import('./factors/authenticator.tsx') },
  { path: '/security/backup-codes', load: () => import('./factors/backup-codes.tsx') },
  { path: '/security/passkeys', load: () => import('./factors/passkeys.tsx') },
  { path: '/security/providers', load: () => import('./factors/providers.tsx') },
  { path: '/security/ip-whitelist', load: () => import('./ip-whitelist.tsx') },
]
