import type { startBrowserSession, startWithPasskey } from '../../identity/browser-sessions/contract.ts'
import type { completeLogin, createPasskeyRequest, verifyPasskey } from '../../identity/login/contract.ts'
import type { createStepUpPasskeyOptions } from '../../identity/mfa/contract.ts'
import type {
  createPasskeyOptions,
  deletePasskey,
  listPasskeys,
  registerPasskey,
} from '../../identity/passkeys/contract.ts'
import type { PorticoError } from '../errors.ts'
import type { Args, OperationCaller, Result } from '../operation-types.ts'

/** The options of a new passkey, as JSON of WebAuthn level 3. */
export type PasskeyCreation = Result<typeof createPasskeyOptions>
/** The options of a signature by a passkey. */
export type PasskeyRequest = Result<typeof createPasskeyRequest>
export type PasskeyRegistration = Args<typeof registerPasskey>['body']['credential']
export type PasskeyAssertion = Args<typeof verifyPasskey>['body']['credential']
/** A passkey of the account. */
export type RegisteredPasskey = Result<typeof registerPasskey>

/**
 * The passkeys of a device. `webAuthn()` of `portico-client/passkeys` is that of a browser. Its methods reject with the
 * signal's reason, or with a code `CLIENT.PASSKEY_…`.
 */
export interface Authenticator {
  isSupported(): boolean
  create(options: PasskeyCreation, signal: AbortSignal): Promise<PasskeyRegistration>
  /** With `autofill`, waits until the user selects a passkey among the suggestions of an input. */
  get(options: PasskeyRequest, how: { autofill: boolean; signal: AbortSignal }): Promise<PasskeyAssertion>
  /** Hides a deleted passkey. Never rejects. */
  forget?(passkey: { rpId: string; credentialId: string }): Promise<void>
  /** Hides all passkeys of the account but these. Never rejects. */
  retain?(passkeys: { rpId: string; userId: string; credentialIds: string[] }): Promise<void>
}

export interface PasskeySignIn {
  /**
   * Suggests passkeys in the input of the page that has `autocomplete="username webauthn"`. Resolves when the user has
   * selected one. Rejects with CLIENT.PASSKEY_ABORTED when another sign-in of the client begins.
   */
  autofill?: boolean
  signal?: AbortSignal
}

export interface NewPasskey {
  /** For the list of passkeys. */
  name?: string
  /** For the first passkey of an operator who needs one. `portico operator passkey` prints it. */
  enrollmentToken?: string
  signal?: AbortSignal
}

export interface PasskeyOperations {
  createPasskeyRequest: typeof createPasskeyRequest
  verifyPasskey: typeof verifyPasskey
  startWithPasskey: typeof startWithPasskey
  createStepUpPasskeyOptions: typeof createStepUpPasskeyOptions
  createPasskeyOptions: typeof createPasskeyOptions
  registerPasskey: typeof registerPasskey
  listPasskeys: typeof listPasskeys
  deletePasskey: typeof deletePasskey
}

/** The use of a passkey where the user could use another factor. */
export interface FactorStep<T> {
  /** Whether to use a passkey. Called again after each failure. */
  isWanted(failed: PorticoError | null): Promise<boolean> | boolean
  /** Whether the account has another factor. */
  hasOther: boolean
  verify(passkey: PasskeyAssertion): Promise<T>
}

/** The last step of a sign-in, by the operation of the session mode. */
export interface LastSteps {
  cookie(): Promise<Result<typeof startBrowserSession>>
  tokens(): Promise<Result<typeof completeLogin>>
}

export type StepUpPurpose = NonNullable<NonNullable<Args<typeof createStepUpPasskeyOptions>['body']>['purpose']>

/** The passkeys of a client. A page has one ceremony at a time: the next one ends it. */
export interface Passkeys {
  /** Signs in without a name and a password. */
  signIn<T>(caller: OperationCaller, complete: (steps: LastSteps) => Promise<T>, input?: PasskeySignIn): Promise<T>
  /** The second factor of a sign-in. Returns null if the user wants another one. */
  prove<T>(caller: OperationCaller, sessionId: string, step: FactorStep<T>): Promise<{ done: T } | null>
  /** Confirms a purpose. Returns null if the user wants another factor. */
  confirm<T>(caller: OperationCaller, purpose: StepUpPurpose, step: FactorStep<T>): Promise<{ done: T } | null>
  /** Registers a passkey of this device, after a step-up. */
  add(caller: OperationCaller, input?: NewPasskey): Promise<RegisteredPasskey>
  /** Deletes a passkey, after a step-up. The browser then no longer offers it. */
  remove(caller: OperationCaller, passkeyBizId: string): Promise<void>
  /** Ends the ceremony, such as the suggestions of an input. */
  abandon(): void
}

/** `webAuthn()`, or `passkeysOf(authenticator)`. Only pages with passkeys load its code. */
export type PasskeyFeature = (operations: PasskeyOperations) => Passkeys
