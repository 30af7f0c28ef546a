import { hash, verify } from '@node-rs/argon2'
import { type ConcurrencyLimits, createConcurrencyLimiter, type Randomness } from '../../kernel/index.ts'

/** Hashes and verifies passwords. */
export interface PasswordHasher {
  /** Returns a PHC string. Normalizes the password to NFKC (NIST SP 800-63B-4, section 3.1.1.2). */
  hash(password: string): Promise<string>
  /** Whether a password matches. Null (no account or no password) takes the same time and returns false. */
  verify(hashed: string | null, password: string): Promise<boolean>
  /** Whether a hash was made with other costs than the current ones and must be replaced at the next sign-in. */
  isOutdated(hashed: string): boolean
  /** Returns the number of waiting hashes. */
  waiting(): number
}

export interface HashCost {
  /** In KiB. */
  memoryCost: number
  /** Number of passes. */
  timeCost: number
  /** Number of lanes. */
  parallelism: number
}

/** OWASP's recommendation for argon2id, the library's default variant: 19 MiB, two passes, one lane. */
const recommendedCost: HashCost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
const decoyBytes = 24

/** Hashes passwords in a bounded queue, because each hash takes about 11 ms and 19 MiB. Throws SYSTEM.UNAVAILABLE if full. */
export const createPasswordHasher = (
  limits: ConcurrencyLimits,
  randomness: Randomness,
  cost = recommendedCost,
): PasswordHasher => {
  const current = `$argon2id$v=19$m=${cost.memoryCost},t=${cost.timeCost},p=${cost.parallelism}$`
  const queue = createConcurrencyLimiter(limits)
  // Computed at the start, so that the first sign-in to an unknown account takes no longer than later ones.
  const decoy = hash(Buffer.from(randomness.bytes(decoyBytes)), cost)
  decoy.catch(() => undefined)
  return {
    hash: (password) => queue.runLimited(() => hash(password.normalize('NFKC'), cost)),
    verify: async (hashed, password) => {
      const against = hashed ?? (await decoy)
      const matches = await queue.runLimited(() => verify(against, password.normalize('NFKC')))
      return matches && hashed !== null
    },
    isOutdated: (hashed) => !hashed.startsWith(current),
    waiting: queue.waiting,
  }
}
