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

/** Opens the workspace of a new account in the transaction that inserts the account. */
export type OpenOwnWorkspace = (
  tx: Tx,
  opening: { ownerId: AccountId; name: string; kind: 'LIVE'; joinSource: 'REGISTRATION'; at: Instant },
) => Promise<unknown>

/** The ports of identity. */
export interface IdentityPorts {
  database: Database
  cache: Cache
  pubsub: PubSub
  mailer: Mailer
  /** Runs work after the response, such as sending mail. */
  background: BackgroundWork
  words: Words
  clock: Clock
  ids: Ids
  randomness: Randomness
  secretBox: SecretBox
  digest: KeyedDigest
  passwords: PasswordHasher
  captcha: Captcha
  breachedPasswords: BreachCheck
  openWorkspace: OpenOwnWorkspace
  /** Whether the text is an ISO 3166-1 alpha-2 country code. */
  isCountry(alpha2: string): boolean
}

/** The context of a signed-in request. */
export type CallerContext = RequestContext & { caller: Caller }

/** The account whose IP whitelist is checked. */
export interface GuardedAccount {
  portal: Portal
  accountId: AccountId
  ipWhitelistEnabled: boolean
}

/** Checks IP whitelists for sessions and sign-ins. Implemented in ip-whitelist/guard.ts. */
export interface AddressGuard {
  /**
   * Rejects with ACCESS.IP_NOT_ALLOWED if the account's whitelist is enabled and does not contain the address. Inside a
   * transaction, pass it as `tx`: waiting for a second connection can exhaust the pool.
   */
  assertAllowed(account: GuardedAccount, clientIp: string, tx?: Tx): Promise<void>
  /** Drops the cached whitelist of an account. Call it after a change is committed. */
  invalidate(accountId: AccountId): void
}
