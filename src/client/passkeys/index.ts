/*
 * The entry `portico-client/passkeys`: the passkeys of a browser (WebAuthn level 3), by `@simplewebauthn/browser`. Only pages
 * that import it load this library. `feature.ts` has what a client needs, and `passkeys.ts` the calls.
 */
import {
  browserSupportsWebAuthn,
  browserSupportsWebAuthnAutofill,
  sendSignal,
  startAuthentication,
  startRegistration,
  WebAuthnAbortService,
} from '@simplewebauthn/browser'
import { withAbort } from '../abort.ts'
import { clientError, passkeysUnavailable } from '../errors.ts'
import type { Authenticator, PasskeyFeature, PasskeyRequest } from './feature.ts'
import { ClientPasskeys } from './passkeys.ts'

export type {
  Authenticator,
  PasskeyAssertion,
  PasskeyCreation,
  PasskeyFeature,
  PasskeyRegistration,
  PasskeyRequest,
} from './feature.ts'

/** The passkeys of the browser. */
export function webAuthn(): PasskeyFeature {
  return passkeysOf({ ...ceremonies, ...(hasSignals() && signals) })
}

/** The passkeys of another authenticator, such as the native one of an app. */
export function passkeysOf(authenticator: Authenticator): PasskeyFeature {
  return (operations) => new ClientPasskeys(operations, authenticator)
}

/** Whether the browser has passkeys. The page must be https, or on localhost. */
export function supportsPasskeys(): boolean {
  return browserSupportsWebAuthn()
}

/** Whether the browser suggests passkeys in inputs. */
export function supportsAutofill(): Promise<boolean> {
  return browserSupportsWebAuthnAutofill()
}

const ceremonies: Omit<Authenticator, 'forget' | 'retain'> = {
  isSupported: supportsPasskeys,
  create: ({ excludeCredentials, ...options }, signal) =>
    runCeremony(signal, async () => {
      const optionsJSON = { ...options, excludeCredentials: excludeCredentials.map(describe) }
      const { id, rawId, type, response } = await startRegistration({ optionsJSON })
      const { clientDataJSON, attestationObject, transports = [] } = response
      return { id, rawId, type, response: { clientDataJSON, attestationObject, transports } }
    }),
  get: ({ allowCredentials, ...options }, { autofill, signal }) =>
    runCeremony(signal, async () => {
      const optionsJSON = { ...options, allowCredentials: allowCredentials.map(describe) }
      const { id, rawId, type, response } = await startAuthentication({ optionsJSON, useBrowserAutofill: autofill })
      return { id, rawId, type, response }
    }),
}

/** Some browsers have none. */
const signals: Pick<Authenticator, 'forget' | 'retain'> = {
  forget: ({ rpId, credentialId }) =>
    ignoreErrors(sendSignal({ signalName: 'unknownCredential', rpID: rpId, credentialID: credentialId })),
  retain: ({ rpId, userId, credentialIds }) =>
    ignoreErrors(
      sendSignal({
        signalName: 'allAcceptedCredentials',
        rpID: rpId,
        userID: userId,
        allAcceptedCredentialIDs: credentialIds,
      }),
    ),
}

function hasSignals(): boolean {
  return supportsPasskeys() && 'signalAllAcceptedCredentials' in PublicKeyCredential
}

async function runCeremony<T>(signal: AbortSignal, start: () => Promise<T>): Promise<T> {
  const cancel = (): void => WebAuthnAbortService.cancelCeremony()
  signal.addEventListener('abort', cancel)
  try {
    return await withAbort(signal, start)
  } catch (error) {
    signal.throwIfAborted()
    throw failureOf(error)
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}

/** Browsers do not say whether the user has cancelled, or has no passkey, so that pages cannot find out. */
function failureOf(error: unknown): Error {
  switch (error instanceof Error && error.name) {
    case 'NotAllowedError':
      return clientError('CLIENT.PASSKEY_CANCELLED', 'the user cancelled, or has no passkey here', error)
    case 'AbortError':
      return clientError('CLIENT.PASSKEY_ABORTED', 'another use of a passkey has begun', error)
    case 'InvalidStateError':
      return clientError('CLIENT.PASSKEY_EXISTS', 'the device already has a passkey of this account', error)
    default:
      return passkeysUnavailable(error)
  }
}

type Descriptor = PasskeyRequest['allowCredentials'][number]

/** Browsers ignore other transports, too. */
function describe({ id, type, transports }: Descriptor) {
  return { id, type, transports: transports.filter(isTransport) }
}

const knownTransports = ['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb'] as const

function isTransport(text: string): text is (typeof knownTransports)[number] {
  return knownTransports.some((known) => known === text)
}

/** A signal only tidies up. */
async function ignoreErrors(signalled: Promise<void>): Promise<void> {
  await signalled.catch(() => undefined)
}
