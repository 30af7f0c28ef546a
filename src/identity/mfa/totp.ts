import { generateURI, ScureBase32Plugin, verifySync } from 'otplib'
import { type AccountId, type Instant, type Portal, toInstant } from '../../kernel/index.ts'
import type { SecretBox } from '../../platform/crypto/index.ts'

/** RFC 6238 with the parameters that authenticator apps support. */
export const secretBytes = 20
const stepSeconds = 30
const pattern = /^\d{6}$/
const base32 = new ScureBase32Plugin()

/** In base 32, for users who cannot scan the QR code. */
export function secretText(secret: Uint8Array): string {
  return base32.encode(secret)
}

export function otpauthUri(issuer: string, accountName: string, secret: Uint8Array): string {
  return generateURI({ issuer, label: accountName, secret: secretText(secret) })
}

/** Accepts the adjacent steps, too. */
export function timeStepOf(secret: Uint8Array, code: string, now: Instant): number | undefined {
  if (!pattern.test(code)) return undefined
  const epoch = Math.floor(now / 1_000)
  const result = verifySync({ secret, token: code, epoch, period: stepSeconds, epochTolerance: stepSeconds })
  return result.valid && 'timeStep' in result ? result.timeStep : undefined
}

export function stepAt(at: Instant): number {
  return Math.floor(at / 1_000 / stepSeconds)
}

/** The codes of a step are valid from here. */
export function stepStart(step: number): Instant {
  return toInstant(step * stepSeconds * 1_000)
}

/** Binds a secret to its account. */
export function otpContext(portal: string, accountId: string): string {
  return `${portal}:${accountId}`
}

export function sealSecret(box: SecretBox, portal: Portal, accountId: AccountId, secret: Uint8Array): Uint8Array {
  return box.seal('otp-secret', otpContext(portal, accountId), secret)
}

export function openSecret(box: SecretBox, portal: Portal, accountId: AccountId, sealed: Uint8Array): Uint8Array {
  return box.open('otp-secret', otpContext(portal, accountId), sealed)
}
