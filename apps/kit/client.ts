import { cookieSession, createClient, isPorticoError, passkeys, secureChannel, stepUpByCode } from 'portal-client'
import { webAuthn } from 'portico-client/passkeys'
import { locale, t } from './i18n.ts'
import { askForCode, Cancelled } from './prompts.ts'
import { readPageSettings } from './settings.ts'

/** The client of this portal, with the session in a cookie. */
export const client = createClient({
  ...readPageSettings(),
  baseUrl: '/',
  locale,
  session: cookieSession(),
  secureChannel: secureChannel(),
  passkeys: passkeys(webAuthn()),
  onStepUp: stepUpByCode({
    attempts: 3,
    code: ({ operationId, sent, refused }) =>
      askForCode({ operationId, destination: sent?.maskedDestination ?? null, refusal: refused?.message ?? null }),
  }),
})

/** The sentence for people. Null if they cancelled. */
export function messageOf(error: unknown): string | null {
  if (error instanceof Cancelled || isPorticoError(error, 'CLIENT.PASSKEY_CANCELLED', 'CLIENT.PASSKEY_ABORTED'))
    return null
  if (isPorticoError(error, 'CLIENT.NETWORK', 'CLIENT.TIMEOUT')) return t('kit.offline')
  return isPorticoError(error) ? error.message : t('kit.unexpected')
}
