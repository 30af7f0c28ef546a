import type { AppPage } from '../pages.tsx'

/** The pages for people who are not signed in, such as that of the link in a mail. */
export const visitorPages: readonly AppPage[] = []
