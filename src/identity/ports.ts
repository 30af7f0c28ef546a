import type { Database, Tx } from '../database/index.ts'
import type {
  AccountId,
  Caller,
  Clock,
  Ids,
  Instant,
  Portal,
  Randomness,
  RequestContext,
  Words,
} from '../kernel/index.ts'
import type { BackgroundWork } from '../platform/background-work.ts'
import type { BreachCheck } from '../platform/breached-passwords.ts'
import type { Cache } from '../platform/cache/index.ts'
import type { Captcha } from '../platform/captcha.ts'
import type { KeyedDigest, PasswordHasher, SecretBox } from '../platform/crypto/index.ts'
import type { Mailer } from '../platform/mail/index.ts'
import type { PubSub } from '../platform/pubsub.ts'

/** Opens the workspace of a new account, in the transaction that inserts the account. */
export type OpenOwnWorkspace = (
  tx: Tx,
  opening: { ownerId: AccountId; name: string; kind: 'LIVE'; joinSource: 'REGISTRATION'; at: Instant },
) => Promise<unknown>

/** Everything that identity needs from other parts of the system. */
export interface IdentityPorts {
  database: Database
  cache: Cache
  announcements: PubSub
  mailer: Mailer
  /** Runs work that no response waits for, such as sending mail. */
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

/** The context of a signed-in request. */
export type CallerContext = RequestContext & { caller: Caller }

/** An account as its IP whitelist sees it. */
export interface GuardedAccount {
  portal: Portal
  accountId: AccountId
  ipWhitelistEnabled: boolean
}

/** The IP whitelist as sessions and sign-ins use it. Implemented in ip-whitelist/guard.ts. */
export interface AddressGuard {
  /**
   * Rejects with ACCESS.IP_NOT_ALLOWED if the account's whitelist does not cover the address. Inside a transaction, pass
   * it: a second connection could wait for the first.
   */
  assertAllowed(account: GuardedAccount, clientIp: string, tx?: Tx): Promise<void>
  /** Drops the cached whitelist of an account. Call after a change is committed. */
  invalidate(accountId: AccountId): void
}
