import type { AppPage } from '../../kit/pages.tsx'

/** For visitors, where the portal allows the registration. */
export const registrationPages: readonly AppPage[] = [{ path: '/register', load: () => import('./register.tsx') }]
