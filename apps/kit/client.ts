import { cookieSession, createClient, isPorticoError, passkeys, secureChannel, stepUpByCode } from 'portal-client'
import { webAuthn } from 'portico-client/passkeys'
import { UserError } from './errors.ts'
import { locale, t } from './i18n.ts'
import { askForStepUpFactor, Cancelled } from './prompts.ts'
import { readPageSettings } from './settings.ts'

const { accessCode, edgeHeaders } = readPageSettings()

/** The client of this portal, with the session in a cookie. */
export const client = createClient({
  accessCode,
  edgeHeaders,
  baseUrl: '/',
  locale,
  session: cookieSession(),
  secureChannel: secureChannel(),
  passkeys: passkeys(webAuthn()),
  onExchange: ({ reply }) => seeTime(reply),
  onStepUp: stepUpByCode({ attempts: 3, code: askForStepUpFactor }),
})

/** The sentence for people. Null if they cancelled. */
export function messageOf(error: unknown): string | null {
  if (error instanceof Cancelled || isPorticoError(error, 'CLIENT.PASSKEY_CANCELLED', 'CLIENT.PASSKEY_ABORTED'))
    return null
  if (isPorticoError(error, 'CLIENT.NETWORK', 'CLIENT.TIMEOUT')) return t('kit.offline')
  return isPorticoError(error) || error instanceof UserError ? error.message : t('kit.unexpected')
}

/** The current time of the gateway in epoch milliseconds. The clock of the browser can differ. */
export function gatewayNow(): number {
  return Date.now() + clockDifferenceMs
}

let clockDifferenceMs = 0

function seeTime(reply: unknown): void {
  if (typeof reply !== 'object' || reply === null || !('timestamp' in reply)) return
  if (typeof reply.timestamp === 'number') clockDifferenceMs = reply.timestamp - Date.now()
}
