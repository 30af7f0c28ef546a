import type { AppPage } from '../../kit/pages.tsx'

export const pages: readonly AppPage[] = [
  { path: '/workspace', load: () => import('./workspace-page.tsx'), entry: 'workspaces.title' },
  { path: '/workspaces/new', load: () => import('./new-workspace.tsx') },
]

/** For a user without a workspace. The last one is for every other path. */
export const pagesWithoutWorkspace: readonly AppPage[] = [{ path: '*', load: () => import('./no-workspace.tsx') }]
