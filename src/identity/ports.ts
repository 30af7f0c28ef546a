import type { Database, Tx } from '../database/index.ts'
import type {
  AccountId,
  Caller,
  Chain,
  Clock,
  Ids,
  Instant,
  MaybePromise,
  Operation,
  Permission,
  Portal,
  Randomness,
  RecoveredAccount,
  RequestContext,
  SuspendedCredentials,
  Words,
} from '../kernel/index.ts'
import type { BackgroundWork } from '../platform/background-work.ts'
import type { BreachCheck } from '../platform/breached-passwords.ts'
import type { Cache } from '../platform/cache/index.ts'
import type { Captcha } from '../platform/captcha.ts'
import type { KeyedDigest, PasswordHasher, SecretBox } from '../platform/crypto/index.ts'
import type { DependencyLog } from '../platform/dependency-log.ts'
import type { Mailer, MailQueue } from '../platform/mail/index.ts'
import type { PubSub } from '../platform/pubsub.ts'
import type { PurposePorts } from './mfa/purpose.ts'

/** Runs in the transaction that inserts the account. */
export type OpenOwnWorkspace = (
  tx: Tx,
  opening: { ownerId: AccountId; name: string; kind: 'LIVE'; joinSource: 'REGISTRATION'; at: Instant },
) => Promise<unknown>

/** Runs in the transaction that recovers the account. Returns numbers by domain. */
export type SuspendCredentials = (tx: Tx, account: RecoveredAccount) => Promise<SuspendedCredentials>

/**
 * Runs in the transaction that learns the groups of an operator. What is missing from `to` is removed; what is new is
 * proposed for another operator to confirm.
 */
export type ApplyProviderRights = (
  tx: Tx,
  rights: { accountId: AccountId; to: readonly Permission[]; reason: string; at: Instant },
) => Promise<void>

/** Runs in the transaction that registers the first passkey of a consumer, with which the account gains permissions. */
export type HoldPayouts = (
  tx: Tx,
  held: { accountId: AccountId; gained: 'all' | readonly string[]; at: Instant },
) => Promise<void>

export interface IdentityHooks {
  openWorkspace: OpenOwnWorkspace
  suspendCredentials: SuspendCredentials
  applyProviderRights: ApplyProviderRights
  holdPayouts: HoldPayouts
  /** Of operators. */
  permissionsOfRole(role: string): readonly Permission[]
  purposes: PurposePorts
  /** The operation of a path at a portal, if its requests can have a ticket. */
  findTicketOperation(portal: Portal, path: string): Operation | undefined
  /** The chains on which a portal has an operation. */
  chainsOf(operation: Operation, portal: Portal): readonly Chain[]
}

export interface IdentityPorts extends IdentityHooks {
  database: Database
  cache: Cache
  pubsub: PubSub
  mailer: Mailer
  /** For codes that a person waits for. */
  codeMails: MailQueue
  background: BackgroundWork
  words: Words
  clock: Clock
  ids: Ids
  randomness: Randomness
  secretBox: SecretBox
  digest: KeyedDigest
  passwords: PasswordHasher
  /** Logs failures of identity providers. */
  dependencies: DependencyLog
  captcha: Captcha
  breachedPasswords: BreachCheck
  isCountry(alpha2: string): boolean
  /** Counts an opened channel towards the limit of its portal. Throws ACCESS.RATE_LIMITED above it. */
  countOpening(portal: Portal): MaybePromise<void>
}

export type CallerContext = RequestContext & { caller: Caller }

export interface GuardedAccount {
  portal: Portal
  accountId: AccountId
  ipWhitelistEnabled: boolean
}

/** Implemented in ip-whitelist/guard.ts. */
export interface AddressGuard {
  /**
   * Rejects with ACCESS.IP_NOT_ALLOWED. Inside a transaction, pass `tx`, because waiting for a second connection can
   * exhaust the pool.
   */
  assertAllowed(account: GuardedAccount, clientIp: string, tx?: Tx): Promise<void>
  /** For an open stream: all streams share a statement, and a check is not recorded as a match. */
  assertStillAllowed(account: GuardedAccount, clientIp: string): Promise<void>
  /** Call this after a change is committed. */
  invalidate(accountId: AccountId): void
}
