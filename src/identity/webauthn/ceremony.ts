import {
  generateAuthenticationOptions,
  generateRegistrationOptions,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from '@simplewebauthn/server'
import { COSEALG, decodeClientDataJSON } from '@simplewebauthn/server/helpers'
import { type Instant, messageOf, minutes, Refusal } from '../../kernel/index.ts'
import type { Account } from '../accounts/store.ts'
import type { PasskeySettings } from '../settings.ts'
import { assertAttested } from './attestation.ts'
import type { AssertionCredential, CreationOptions, RegistrationCredential, RequestOptions } from './contract.ts'
import { fromBase64url, invalidPasskey, toBase64url } from './encoding.ts'
import type { DeviceType } from './schema.ts'
import type { NewPasskey, Passkey } from './store.ts'
import { assertStrictSignature, assertUsableKey } from './strict.ts'

/* The ceremonies of WebAuthn level 3, sections 7.1 and 7.2. */

/** How long a challenge is valid. */
export const challengeMs = minutes(5)

const algorithms = [COSEALG.EdDSA, COSEALG.ES256, COSEALG.RS256]

export async function createCreationOptions(
  { rpId, attestation }: PasskeySettings,
  account: Pick<Account, 'id' | 'email' | 'name'>,
  { challenge, issuer, existing }: { challenge: Uint8Array; issuer: string; existing: readonly Passkey[] },
): Promise<CreationOptions> {
  const options = await generateRegistrationOptions({
    rpID: rpId,
    rpName: issuer,
    userID: userHandleOf(account.id),
    userName: account.email,
    userDisplayName: account.name,
    challenge: Uint8Array.from(challenge),
    timeout: challengeMs,
    attestationType: attestation === 'none' ? 'none' : 'direct',
    excludeCredentials: existing.map(toDescriptor),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    supportedAlgorithmIDs: algorithms,
  })
  return {
    rp: { id: rpId, name: options.rp.name },
    user: options.user,
    challenge: options.challenge,
    pubKeyCredParams: options.pubKeyCredParams.map(({ alg }) => ({ type: 'public-key', alg })),
    timeout: challengeMs,
    excludeCredentials: existing.map(toDescriptor),
    authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
    attestation: attestation === 'none' ? 'none' : 'direct',
  }
}

/** Without `allowed`, the browser offers its discoverable passkeys. */
export async function createRequestOptions(
  { rpId }: PasskeySettings,
  challenge: Uint8Array,
  allowed: readonly Passkey[] = [],
): Promise<RequestOptions> {
  const options = await generateAuthenticationOptions({
    rpID: rpId,
    challenge: Uint8Array.from(challenge),
    timeout: challengeMs,
    allowCredentials: allowed.map(toDescriptor),
    userVerification: 'required',
  })
  const allowCredentials = allowed.map(toDescriptor)
  return { challenge: options.challenge, timeout: challengeMs, rpId, allowCredentials, userVerification: 'required' }
}

export type RegisteredFacts = Omit<NewPasskey, 'portal' | 'id' | 'accountId' | 'name' | 'isEnrolled'>

/** Throws AUTH.PASSKEY_INVALID. */
export async function verifyRegistration(
  settings: PasskeySettings,
  credential: RegistrationCredential,
  challenge: Uint8Array,
  at: Instant,
): Promise<RegisteredFacts> {
  const { clientDataJSON, attestationObject, transports = [] } = credential.response
  assertSameOriginPage(clientDataJSON)
  assertAttested(settings.attestation, attestationObject, at)
  const { verified, registrationInfo: info } = await refusing(() =>
    verifyRegistrationResponse({
      response: { ...toPlain(credential), response: { clientDataJSON, attestationObject } },
      expectedChallenge: toBase64url(challenge),
      expectedOrigin: settings.origins,
      expectedRPID: settings.rpId,
      requireUserVerification: true,
      supportedAlgorithmIDs: algorithms,
    }),
  )
  if (!verified || !info) throw invalidPasskey('the attestation is not valid')
  if (info.credential.id !== credential.id)
    throw invalidPasskey('the credential has another id than its authenticator data')
  assertUsableKey(info.credential.publicKey)
  return {
    credentialId: fromBase64url(credential.id),
    publicKey: info.credential.publicKey,
    signCount: info.credential.counter,
    transports: [...new Set(transports)],
    aaguid: info.aaguid,
    deviceType: deviceTypeOf(info.credentialDeviceType),
    backedUp: info.credentialBackedUp,
  }
}

export interface VerifiedAssertion {
  signCount: number
  backedUp: boolean
}

export interface ExpectedAssertion {
  /** When the challenge that the browser signed was created. Undefined if it is unknown, expired or used. */
  issuedAt: Instant | undefined
  /** Undefined if the portal does not know the credential, or the account does not own it. */
  passkey: Passkey | undefined
  /** Whether the credential must name its account, because the request did not. */
  isDiscovered: boolean
}

/**
 * Verifies a signature in any case, so that the time does not reveal which credentials exist. Throws
 * AUTH.PASSKEY_INVALID. See `copiedPasskey` for a counter that went back.
 */
export async function verifyAssertion(
  settings: PasskeySettings,
  credential: AssertionCredential,
  { issuedAt, passkey, isDiscovered }: ExpectedAssertion,
): Promise<VerifiedAssertion> {
  const { clientDataJSON, authenticatorData, signature, userHandle } = credential.response
  assertSameOriginPage(clientDataJSON)
  const { verified, authenticationInfo: info } = await refusing(() =>
    verifyAuthenticationResponse({
      response: { ...toPlain(credential), response: { clientDataJSON, authenticatorData, signature } },
      expectedChallenge: toBase64url(challengeOf(credential) ?? noChallenge),
      expectedOrigin: settings.origins,
      expectedRPID: settings.rpId,
      // The library compares counters before it verifies the signature, so that anybody could claim a copy.
      credential: { id: credential.id, publicKey: Uint8Array.from(passkey?.publicKey ?? unknownKey), counter: 0 },
      requireUserVerification: true,
    }),
  )
  if (issuedAt === undefined) throw invalidPasskey('the challenge is unknown, expired or used')
  if (!passkey) throw invalidPasskey('the credential is unknown or belongs to another account')
  if (!verified) throw invalidPasskey('the signature is wrong')
  assertStrictSignature(passkey.publicKey, fromBase64url(signature))
  if (isDiscovered && userHandle !== toBase64url(userHandleOf(passkey.accountId)))
    throw invalidPasskey('the user handle is missing or names another account')
  if (!isDiscovered && userHandle && userHandle !== toBase64url(userHandleOf(passkey.accountId)))
    throw invalidPasskey('the user handle names another account')
  if (passkey.suspendedAt !== null) throw invalidPasskey('the passkey is suspended')
  if (deviceTypeOf(info.credentialDeviceType) !== passkey.deviceType)
    throw invalidPasskey('the backup eligibility has changed')
  const { newCounter: signCount } = info
  if (signCount <= passkey.signCount && (signCount > 0 || passkey.signCount > 0))
    throw wrongCounter(passkey, signCount, issuedAt)
  return { signCount, backedUp: info.credentialBackedUp }
}

/** The challenge that the browser signed, or undefined if the client data cannot be read. */
export function challengeOf({ response }: { response: { clientDataJSON: string } }): Uint8Array | undefined {
  const challenge = readClientData(response.clientDataJSON)?.challenge
  if (typeof challenge !== 'string' || !/^[\w-]{1,512}$/.test(challenge)) return undefined
  return fromBase64url(challenge)
}

const copies = new WeakMap<Refusal, Passkey>()

/** The passkey of which the refused assertion came from a copy. */
export function copiedPasskey(error: unknown): Passkey | undefined {
  return error instanceof Refusal ? copies.get(error) : undefined
}

const noChallenge = new Uint8Array(32)

/** COSE: the base point of P-256. Its private key is public, so a signature with it must never count. */
const unknownKey = Buffer.from(
  'a501020326200121' +
    '58206b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296' +
    '2258204fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5',
  'hex',
)

/** An account's id is random enough and says nothing about the person (14.6.1). */
function userHandleOf(accountId: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(Buffer.from(accountId.replaceAll('-', ''), 'hex'))
}

function toDescriptor({ credentialId, transports }: Passkey) {
  return { id: toBase64url(credentialId), type: 'public-key' as const, transports }
}

function toPlain({ id, rawId, type }: AssertionCredential | RegistrationCredential) {
  return { id, rawId, type, clientExtensionResults: {} }
}

function deviceTypeOf(type: 'singleDevice' | 'multiDevice'): DeviceType {
  return type === 'multiDevice' ? 'MULTI_DEVICE' : 'SINGLE_DEVICE'
}

/** The library accepts a frame in a page of another origin if the browser does not name that origin. */
function assertSameOriginPage(clientDataJSON: string): void {
  const data = readClientData(clientDataJSON)
  if (!data) throw invalidPasskey('the client data is not JSON')
  if (data.crossOrigin || Object.hasOwn(data, 'topOrigin'))
    throw invalidPasskey('the page is in a frame of another origin')
}

function readClientData(clientDataJSON: string): ReturnType<typeof decodeClientDataJSON> | undefined {
  try {
    const data: unknown = decodeClientDataJSON(clientDataJSON)
    return data !== null && typeof data === 'object' ? decodeClientDataJSON(clientDataJSON) : undefined
  } catch {
    return undefined
  }
}

async function refusing<T>(verify: () => Promise<T>): Promise<T> {
  try {
    return await verify()
  } catch (error) {
    throw invalidPasskey(messageOf(error), error)
  }
}

/**
 * A challenge that was created after the last use was signed after it. An older one may only have arrived later than
 * another assertion of the same device.
 */
function wrongCounter(passkey: Passkey, signCount: number, issuedAt: Instant): Refusal {
  const refusal = invalidPasskey(`the counter went from ${passkey.signCount} to ${signCount}`)
  if (issuedAt > (passkey.lastUsedAt ?? passkey.createdAt)) copies.set(refusal, passkey)
  return refusal
}
