import type { Configuration, PortalConfiguration } from '../config/index.ts'
import type { Portal } from '../kernel/index.ts'

/** Absolute links for mails. They come from the configuration only, never from the Host of a request. */
export const linksOf = (
  { publicUrl, portals }: Pick<Configuration, 'publicUrl' | 'portals'>,
  portal: Portal,
): PortalConfiguration['links'] => {
  const whole = (page: string) => (page.startsWith('/') ? publicUrl.replace(/\/$/, '') + page : page)
  const { signIn, passwordReset } = portals[portal].links
  return { signIn: whole(signIn), passwordReset: whole(passwordReset) }
}
