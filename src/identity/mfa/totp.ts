import { generateURI, ScureBase32Plugin, verifySync } from 'otplib'
import type { AccountId, Instant, Portal } from '../../kernel/index.ts'
import type { SecretBox } from '../../platform/crypto/index.ts'

/** TOTP (RFC 6238) with the parameters that authenticator apps support: SHA-1, six digits, 30 seconds. */
export const secretBytes = 20
const stepSeconds = 30
const pattern = /^\d{6}$/
const base32 = new ScureBase32Plugin()

/** Returns a secret in base 32, for users who cannot scan the QR code. */
export const secretText = (secret: Uint8Array): string => base32.encode(secret)

/** Returns the otpauth URI for the QR code. */
export const otpauthUri = (issuer: string, accountName: string, secret: Uint8Array): string =>
  generateURI({ issuer, label: accountName, secret: secretText(secret) })

/** Returns the time step of a code: the current, the previous or the next one. Returns undefined for a wrong code. */
export const timeStepOf = (secret: Uint8Array, code: string, now: Instant): number | undefined => {
  if (!pattern.test(code)) return undefined
  const epoch = Math.floor(now / 1_000)
  const result = verifySync({ secret, token: code, epoch, period: stepSeconds, epochTolerance: stepSeconds })
  return result.valid && 'timeStep' in result ? result.timeStep : undefined
}

/** Binds an encrypted secret to its account. */
const contextOf = (portal: Portal, accountId: AccountId): string => `${portal}:${accountId}`

/** Encrypts an authenticator secret. */
export const sealSecret = (box: SecretBox, portal: Portal, accountId: AccountId, secret: Uint8Array): Uint8Array =>
  box.seal('otp-secret', contextOf(portal, accountId), secret)

/** Decrypts an authenticator secret. */
export const openSecret = (box: SecretBox, portal: Portal, accountId: AccountId, sealed: Uint8Array): Uint8Array =>
  box.open('otp-secret', contextOf(portal, accountId), sealed)
