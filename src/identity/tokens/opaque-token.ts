import { type Randomness, Refusal } from '../../kernel/index.ts'

const tokenBytes = 32
const pattern = /^[A-Za-z0-9_-]{43}$/

/** Returns 256 random bits in base64url. The store keeps only a digest of them. */
export const mintToken = (randomness: Randomness): string =>
  Buffer.from(randomness.bytes(tokenBytes)).toString('base64url')

/** The one refusal for a sign-in attempt, a token or a family that is unknown, expired or spent. */
export const sessionNotFound = (internal: string): Refusal => new Refusal('AUTH.SESSION_NOT_FOUND', { internal })

/** Throws AUTH.SESSION_NOT_FOUND for a text that `mintToken` cannot have returned, so that no query is run for it. */
export const assertOpaqueToken = (text: string): void => {
  if (!pattern.test(text)) throw sessionNotFound('not a well-formed token')
}
