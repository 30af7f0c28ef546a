import type { AppPage } from '../../kit/pages.tsx'

export const pages: readonly AppPage[] = []
