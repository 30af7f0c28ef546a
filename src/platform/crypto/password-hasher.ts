import { hash, verify } from '@node-rs/argon2'
import { type ConcurrencyLimits, createConcurrencyLimiter, type Randomness } from '../../kernel/index.ts'

export interface PasswordHasher {
  /** Returns a PHC string of the password in NFKC (NIST SP 800-63B-4, section 3.1.1.2). */
  hash(password: string): Promise<string>
  /** Null (no account or no password) takes the same time and returns false. */
  verify(hashed: string | null, password: string): Promise<boolean>
  /** An outdated hash has other costs. Replace it at the next sign-in. */
  isOutdated(hashed: string): boolean
  waiting(): number
}

export interface HashCost {
  /** In KiB. */
  memoryCost: number
  timeCost: number
  parallelism: number
}

/** OWASP's recommendation for argon2id, the library's default variant. */
const recommendedCost: HashCost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
const decoyBytes = 24

/** Each hash takes about 11 ms and 19 MiB. Throws SYSTEM.UNAVAILABLE if the queue is full. */
export function createPasswordHasher(
  limits: ConcurrencyLimits,
  randomness: Randomness,
  cost = recommendedCost,
): PasswordHasher {
  const current = `$argon2id$v=19$m=${cost.memoryCost},t=${cost.timeCost},p=${cost.parallelism}$`
  const queue = createConcurrencyLimiter(limits)
  // Computed at startup, so that the first sign-in to an unknown account takes no longer.
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
