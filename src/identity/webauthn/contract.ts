import * as z from 'zod'

/*
 * The JSON of WebAuthn level 3 (w3.org/TR/webauthn-3, 5.1.8 to 5.1.10 and 5.2). Members that repeat signed data are
 * accepted and not read.
 */

/** Limits of encoded bytes. A credential id has at most 1023 bytes (5.8.3). */
const maxCredentialId = 1_364
const maxClientData = 4_096
const maxAuthenticatorData = 8_192
const maxAttestation = 65_536
const maxSignature = 8_192
const maxPublicKey = 8_192
/** A user handle has at most 64 bytes (5.4.3). */
const maxUserHandle = 88
const maxTransports = 10

function base64url(max: number) {
  return z
    .string()
    .min(1)
    .max(max)
    .regex(/^[\w-]+$/)
    .meta({ description: 'base64url without padding' })
}

/** The results of extensions, of which Portico requests none. */
const extensionResults = z.record(z.string().regex(/^[\w.-]{1,64}$/), z.unknown()).optional()

const transports = z.array(z.string().max(32)).max(maxTransports)
const attachment = z.enum(['platform', 'cross-platform']).nullish()

const credential = {
  id: base64url(maxCredentialId),
  rawId: base64url(maxCredentialId),
  type: z.literal('public-key'),
  authenticatorAttachment: attachment,
  clientExtensionResults: extensionResults,
}

/** What `navigator.credentials.create` returns, as JSON. */
export const RegistrationCredential = z
  .strictObject({
    ...credential,
    response: z.strictObject({
      clientDataJSON: base64url(maxClientData),
      attestationObject: base64url(maxAttestation),
      transports: transports.optional(),
      authenticatorData: base64url(maxAuthenticatorData).optional(),
      publicKey: base64url(maxPublicKey).nullish(),
      publicKeyAlgorithm: z.int().optional(),
    }),
  })
  .refine(hasSameIds, { path: ['rawId'] })
  .meta({ title: 'RegistrationCredential', description: '`RegistrationResponseJSON` of WebAuthn level 3' })
export type RegistrationCredential = z.output<typeof RegistrationCredential>

/** What `navigator.credentials.get` returns, as JSON. */
export const AssertionCredential = z
  .strictObject({
    ...credential,
    response: z.strictObject({
      clientDataJSON: base64url(maxClientData),
      authenticatorData: base64url(maxAuthenticatorData),
      signature: base64url(maxSignature),
      userHandle: base64url(maxUserHandle).nullish(),
    }),
  })
  .refine(hasSameIds, { path: ['rawId'] })
  .meta({
    title: 'AssertionCredential',
    description: '`AuthenticationResponseJSON` of WebAuthn level 3. Required if `mfaMethod` is `PASSKEY`.',
  })
export type AssertionCredential = z.output<typeof AssertionCredential>

const Descriptor = z.object({
  id: z.string(),
  type: z.literal('public-key'),
  transports: z.array(z.string()),
})

/** For `navigator.credentials.create`. */
export const CreationOptions = z
  .object({
    rp: z.object({ id: z.string(), name: z.string() }),
    user: z.object({ id: z.string(), name: z.string(), displayName: z.string() }),
    challenge: z.string(),
    pubKeyCredParams: z.array(z.object({ type: z.literal('public-key'), alg: z.int() })),
    timeout: z.int().meta({ description: 'Milliseconds.' }),
    excludeCredentials: z.array(Descriptor),
    authenticatorSelection: z.object({
      residentKey: z.literal('required'),
      requireResidentKey: z.boolean(),
      userVerification: z.literal('required'),
    }),
    attestation: z.enum(['none', 'direct']),
  })
  .meta({
    title: 'PasskeyCreationOptions',
    description: '`PublicKeyCredentialCreationOptionsJSON` of WebAuthn level 3',
  })
export type CreationOptions = z.output<typeof CreationOptions>

/** For `navigator.credentials.get`. */
export const RequestOptions = z
  .object({
    challenge: z.string(),
    timeout: z.int().meta({ description: 'Milliseconds.' }),
    rpId: z.string(),
    allowCredentials: z
      .array(Descriptor)
      .meta({ description: 'Empty if the browser offers its discoverable passkeys.' }),
    userVerification: z.literal('required'),
  })
  .meta({ title: 'PasskeyRequestOptions', description: '`PublicKeyCredentialRequestOptionsJSON` of WebAuthn level 3' })
export type RequestOptions = z.output<typeof RequestOptions>

function hasSameIds({ id, rawId }: { id: string; rawId: string }): boolean {
  return id === rawId
}
