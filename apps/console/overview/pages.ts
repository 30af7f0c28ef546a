import type { AppPage } from '../../kit/pages.tsx'

/** Each part of the page needs its own permission. */
export const pages: readonly AppPage[] = [{ path: '/', load: () => import('./overview.tsx'), entry: 'overview.title' }]
