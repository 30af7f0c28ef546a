import type { Configuration, PortalConfiguration } from '../config/index.ts'
import type { Portal } from '../kernel/index.ts'

/** Where mails lead, in full. Links come from the configuration alone, never from what a request says of its host. */
export const linksOf = (
  { publicUrl, portals }: Pick<Configuration, 'publicUrl' | 'portals'>,
  portal: Portal,
): PortalConfiguration['links'] => {
  const whole = (page: string) => (page.startsWith('/') ? publicUrl.replace(/\/$/, '') + page : page)
  const { signIn, passwordReset } = portals[portal].links
  return { signIn: whole(signIn), passwordReset: whole(passwordReset) }
}
