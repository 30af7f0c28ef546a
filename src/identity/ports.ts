import type { Clock, Ids, Randomness, Words } from '../kernel/index.ts'
import type { Cache } from '../platform/cache/index.ts'
import type { KeyedDigest, PasswordHasher, SecretBox } from '../platform/crypto/index.ts'
import type { Database } from '../platform/database/index.ts'
import type { Mailer } from '../platform/mail/index.ts'

/** Everything that identity takes from the outside. */
export interface IdentityPorts {
  database: Database
  cache: Cache
  mailer: Mailer
  words: Words
  clock: Clock
  ids: Ids
  randomness: Randomness
  secretBox: SecretBox
  digest: KeyedDigest
  passwords: PasswordHasher
}
