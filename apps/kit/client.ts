import { cookieSession, createClient, isPorticoError, passkeys, secureChannel, stepUpByCode } from 'portal-client'
import { webAuthn } from 'portico-client/passkeys'
import { UserError } from './errors.ts'
import { locale, t } from './i18n.ts'
import { askForStepUpFactor, Cancelled } from './prompts.ts'
import { readPageSettings } from './settings.ts'

const { accessCode, edgeHeaders, mount } = readPageSettings()

/** The client of this portal, with the session in a cookie. */
export const client = createClient({
  accessCode,
  edgeHeaders,
  ...(mount && { mount }),
  baseUrl: '/',
  locale,
  session: cookieSession(),
  secureChannel: secureChannel(),
  passkeys: passkeys(webAuthn()),
  onExchange: ({ reply }) => {
    if (typeof reply !== 'object' || reply === null) return
    if ('timestamp' in reply) seeTime(reply.timestamp)
    if ('code' in reply && reply.code === 'ACCESS.PERMISSION_DENIED') denials.dispatchEvent(new Event('denial'))
  },
  onStepUp: stepUpByCode({ attempts: 3, code: askForStepUpFactor }),
})

/** The sentence for people. Null if they cancelled. */
export function messageOf(error: unknown): string | null {
  if (error instanceof Cancelled || isPorticoError(error, 'CLIENT.PASSKEY_CANCELLED', 'CLIENT.PASSKEY_ABORTED'))
    return null
  if (isPorticoError(error, 'CLIENT.NETWORK', 'CLIENT.TIMEOUT')) return t('kit.offline')
  return isPorticoError(error) || error instanceof UserError ? error.message : t('kit.unexpected')
}

const denials = new EventTarget()

/** Calls the listener after a call was refused for a missing permission. Returns the function that removes it. */
export function onDenial(listener: () => void): () => void {
  denials.addEventListener('denial', listener)
  return () => denials.removeEventListener('denial', listener)
}

/** The current time of the gateway in epoch milliseconds. The clock of the browser can differ. */
export function gatewayNow(): number {
  return Date.now() + clockDifferenceMs
}

let clockDifferenceMs = 0

function seeTime(timestamp: unknown): void {
  if (typeof timestamp === 'number') clockDifferenceMs = timestamp - Date.now()
}
