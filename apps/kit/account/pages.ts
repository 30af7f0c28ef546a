import type { AppPage } from '../pages.tsx'

/** The pages about the own account, which both applications have. */
export const pages: readonly AppPage[] = []
