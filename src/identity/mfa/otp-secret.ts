import type { AccountId, Portal } from '../../kernel/index.ts'
import type { SecretBox } from '../../platform/crypto/index.ts'

/** A secret opens only for the account that it was made for. */
const contextOf = (portal: Portal, accountId: AccountId): string => `${portal}:${accountId}`

export const sealSecret = (box: SecretBox, portal: Portal, accountId: AccountId, secret: Uint8Array): Uint8Array =>
  box.seal('otp-secret', contextOf(portal, accountId), secret)

export const openSecret = (box: SecretBox, portal: Portal, accountId: AccountId, sealed: Uint8Array): Uint8Array =>
  box.open('otp-secret', contextOf(portal, accountId), sealed)
