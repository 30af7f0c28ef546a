import type { AppPage } from '../../kit/pages.tsx'

/** Each search of the page needs its own permission. */
export const pages: readonly AppPage[] = [{ path: '/find', load: () => import('./find.tsx'), entry: 'find.title' }]
