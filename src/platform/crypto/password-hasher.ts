import { hash, verify } from '@node-rs/argon2'
import { type ConcurrencyLimits, createConcurrencyLimiter, type Randomness } from '../../kernel/index.ts'

export interface PasswordHasher {
  /** A PHC string; the password is taken in NFKC (NIST SP 800-63B-4, 3.1.1.2). */
  hash(password: string): Promise<string>
  /** Whether it matches. Null, where there is no account or no password, costs the same and is always false. */
  verify(hashed: string | null, password: string): Promise<boolean>
  /** Whether a hash was made at another cost than today's, and is to be made anew while the password is at hand. */
  isOutdated(hashed: string): boolean
  /** How many hashes wait for their turn. */
  waiting(): number
}

/** OWASP's argon2id figures: 19 MiB, two passes, one lane. The library's default variant is argon2id. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
const current = `$argon2id$v=19$m=${cost.memoryCost},t=${cost.timeCost},p=${cost.parallelism}$`
const decoyBytes = 24

/** Hashing takes about 11 ms and 19 MiB each, so a bounded number runs at once (SYSTEM.UNAVAILABLE beyond). */
export const createPasswordHasher = (limits: ConcurrencyLimits, randomness: Randomness): PasswordHasher => {
  const queue = createConcurrencyLimiter(limits)
  // Made at once, so that the first unknown account costs what later ones do, and in a thread of its own.
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
