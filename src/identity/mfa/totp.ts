import { generateURI, ScureBase32Plugin, verifySync } from 'otplib'
import type { AccountId, Instant, Portal } from '../../kernel/index.ts'
import type { SecretBox } from '../../platform/crypto/index.ts'

/** TOTP (RFC 6238) with the parameters of every authenticator app: SHA-1, six digits, 30 seconds. */
export const secretBytes = 20
const stepSeconds = 30
const pattern = /^\d{6}$/
const base32 = new ScureBase32Plugin()

/** The secret in base 32, for people who cannot scan the QR code. */
export const secretText = (secret: Uint8Array): string => base32.encode(secret)

/** The otpauth URI for the QR code. */
export const otpauthUri = (issuer: string, accountName: string, secret: Uint8Array): string =>
  generateURI({ issuer, label: accountName, secret: secretText(secret) })

/** Returns the time step of a code: the current one, the one before or the one after. Undefined for a wrong code. */
export const timeStepOf = (secret: Uint8Array, code: string, now: Instant): number | undefined => {
  if (!pattern.test(code)) return undefined
  const epoch = Math.floor(now / 1_000)
  const result = verifySync({ secret, token: code, epoch, period: stepSeconds, epochTolerance: stepSeconds })
  return result.valid && 'timeStep' in result ? result.timeStep : undefined
}

/** A secret can be decrypted for its own account only. */
const contextOf = (portal: Portal, accountId: AccountId): string => `${portal}:${accountId}`

/** Encrypts an authenticator secret. */
export const sealSecret = (box: SecretBox, portal: Portal, accountId: AccountId, secret: Uint8Array): Uint8Array =>
  box.seal('otp-secret', contextOf(portal, accountId), secret)

/** Decrypts an authenticator secret. */
export const openSecret = (box: SecretBox, portal: Portal, accountId: AccountId, sealed: Uint8Array): Uint8Array =>
  box.open('otp-secret', contextOf(portal, accountId), sealed)
