import { generateURI, ScureBase32Plugin, verifySync } from 'otplib'
import type { Instant } from '../../kernel/index.ts'

/** RFC 6238 as every authenticator app speaks it: SHA-1, six digits, 30 seconds. */
export const secretBytes = 20
const stepSeconds = 30
const form = /^\d{6}$/
const base32 = new ScureBase32Plugin()

/** The secret as people type it, where they cannot scan it. */
export const secretText = (secret: Uint8Array): string => base32.encode(secret)

/** The otpauth URI of a QR code. */
export const otpauthUri = (issuer: string, accountName: string, secret: Uint8Array): string =>
  generateURI({ issuer, label: accountName, secret: secretText(secret) })

/** The time step that a code is good for: the present one, or the one before or after it. */
export const stepOf = (secret: Uint8Array, code: string, now: Instant): number | undefined => {
  if (!form.test(code)) return undefined
  const epoch = Math.floor(now / 1_000)
  const result = verifySync({ secret, token: code, epoch, period: stepSeconds, epochTolerance: stepSeconds })
  return result.valid && 'timeStep' in result ? result.timeStep : undefined
}
