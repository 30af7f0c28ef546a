import type { AppPage } from '../pages.tsx'
// Removes the token from the address bar before a page loads.
import './recovery/link-token.ts'

/** The pages for people who are not signed in, such as that of the link in a mail. */
export const visitorPages: readonly AppPage[] = [
  { path: '/forgot-password', load: () => import('./recovery/forgot-password.tsx') },
  { path: '/reset-password', load: () => import('./recovery/reset-password.tsx') },
  { path: '/init-password', load: () => import('./recovery/init-password.tsx') },
  { path: '/undo-factors', load: () => import('./recovery/undo-factors.tsx') },
]
