import type { Database, Tx } from '../database/index.ts'
import type { AccountId, Clock, Ids, Instant, Randomness, Words } from '../kernel/index.ts'
import type { BackgroundWork } from '../platform/background-work.ts'
import type { BreachCheck } from '../platform/breached-passwords.ts'
import type { Cache } from '../platform/cache/index.ts'
import type { Captcha } from '../platform/captcha.ts'
import type { KeyedDigest, PasswordHasher, SecretBox } from '../platform/crypto/index.ts'
import type { Mailer } from '../platform/mail/index.ts'
import type { PubSub } from '../platform/pubsub.ts'

/** The workspace of its own that a new account gets, in the transaction that makes the account. */
export type OpenOwnWorkspace = (
  tx: Tx,
  opening: { ownerId: AccountId; name: string; kind: 'LIVE'; joinSource: 'REGISTRATION'; at: Instant },
) => Promise<unknown>

/** Everything that identity takes from the outside. */
export interface IdentityPorts {
  database: Database
  cache: Cache
  announcements: PubSub
  mailer: Mailer
  /** For what no answer waits for: mails above all. */
  background: BackgroundWork
  words: Words
  clock: Clock
  ids: Ids
  randomness: Randomness
  secretBox: SecretBox
  digest: KeyedDigest
  passwords: PasswordHasher
  robots: Captcha
  breaches: BreachCheck
  openWorkspace: OpenOwnWorkspace
  /** Whether a country has this ISO 3166 alpha-2 code. */
  isCountry(alpha2: string): boolean
}
