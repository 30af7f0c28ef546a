/** The parts of a process that domains can get. Each is a power: `config check` lists those of each extension. */
import type { Logger } from 'pino'
import type { EventData, EventTable, EventType } from '../contract/events/event.ts'
import type { Link } from '../contract/fields.ts'
import type { PermissionRow } from '../contract/permissions.ts'
import type { Database, OpenDatabase, ReadSnapshot, Tx } from '../database/index.ts'
import type {
  AccountId,
  Caller,
  Clock,
  Idempotency,
  Ids,
  Instant,
  Locale,
  Operation,
  Permission,
  Portal,
  Randomness,
  RecoveredAccount,
  RequestContext,
  SessionId,
  SuspendedCredentials,
  Words,
  WorkspaceAccess,
  WorkspaceId,
  WorkspaceKind,
  WorkspaceStatus,
} from '../kernel/index.ts'
import type { Ledger } from '../ledger/index.ts'
import type { Blobs } from '../platform/blobs/index.ts'
import type { DomainCache } from '../platform/cache/index.ts'
import type { KeyedDigest, SecretBox } from '../platform/crypto/index.ts'
import type { Follower, StoredEvent } from '../platform/events/index.ts'
import type { DomainLimits } from '../platform/limits/index.ts'
import type { Mailer } from '../platform/mail/index.ts'

/** A request of an operation whose policy sets `idempotent`. */
export interface IdempotentRequest extends RequestContext {
  caller: Caller
  workspace: WorkspaceAccess | null
  idempotency: Idempotency
}

/** Ends and checks sessions of accounts. */
export interface SessionsPort {
  /** How long a step-up lasts: `mfa.stepUpMs`. */
  stepUpMs: number
  /**
   * Ends all sessions of an account and forgets its known devices, wrong codes and mailed codes. Returns the ids of the sessions that were active. The
   * caller must have locked the account's row.
   */
  end(
    tx: Tx,
    account: { portal: Portal; id: AccountId },
    reason: 'TERMINATED' | 'ACCOUNT_CLOSED',
    at: Instant,
  ): Promise<SessionId[]>
  /**
   * Locks the caller's account until the end of the transaction. Throws ACCESS.TOKEN_INVALID if the caller's session has
   * ended, and for an API key. Call it before a command creates or enables what `onAccountRecovered` suspends. Lock a
   * workspace before the account.
   */
  assertOpen(tx: Tx, caller: Caller): Promise<void>
  /** Whether the caller's session was started with a passkey that counts for `mfa.required`. False for an API key. */
  isByPasskey(tx: Tx, caller: Caller): Promise<boolean>
  /** Those of an operator's permissions that need such a session. */
  permissionsOfPasskey(permissions: readonly Permission[]): readonly Permission[]
  /** Removes ended sessions from this process's cache. Call this after the commit. */
  invalidate(ids: readonly SessionId[]): void
  /**
   * Returns a URL that opens a GET operation once, within a minute, for links, images and event streams of a page: it needs
   * the session's cookie and no header. Check first that the operation would succeed. Throws ACCESS.COOKIE_INVALID for a
   * session that has tokens, and ACCESS.RATE_LIMITED if the session has too many unused URLs.
   */
  createLink(
    request: { caller: Caller; workspace: WorkspaceAccess | null; locale: Locale },
    operation: Operation,
    params: Readonly<Record<string, string>>,
  ): Promise<Link>
  /**
   * Throws ACCESS.IP_NOT_ALLOWED if the account's IP whitelist lacks an address. A repeated check of an open stream is not
   * recorded as a match.
   */
  assertAddressAllowed(
    account: { portal: Portal; accountId: AccountId; ipWhitelistEnabled: boolean },
    clientIp: string,
    isStreamOpen?: boolean,
  ): Promise<void>
}

export interface LockedWorkspace {
  id: WorkspaceId
  name: string
  kind: WorkspaceKind
  status: WorkspaceStatus
}

/** A person's account, for emails. */
export interface Recipient {
  email: string
  name: string
  /** Language of emails that no request caused. */
  locale: Locale
}

export interface AccountsPort {
  /** How long before a recovery a thief may have acted: `passwords.suspicionWindowMs`. */
  suspicionWindowMs: number
  /** Whether people cannot register at a portal with an address or be invited: `refusedDomains` and `carrierDomains`. */
  isRefusedEmail(email: string, portal: Portal): boolean
  /** Maximum emails per day, address and kind of notice: `notices.maxPerDay`. */
  maxNoticesPerDay: number
  /** Returns undefined if the account does not exist. */
  read(portal: Portal, id: AccountId): Promise<Recipient | undefined>
}

/** Second factors of accounts. */
export interface FactorsPort {
  /** Whether an account has an authenticator or unused backup codes. */
  areSet(tx: Tx, account: { portal: Portal; id: AccountId }): Promise<boolean>
  /**
   * Whether an account has used its authenticator or a backup code since an instant. Ignores factors that were younger
   * than `passwords.suspicionWindowMs` then.
   */
  areUsedSince(tx: Tx, account: { portal: Portal; id: AccountId }, since: Instant): Promise<boolean>
  /**
   * Removes the factors and ends the sessions of an account. Returns the ended sessions. The caller must have locked
   * the account's row.
   */
  reset(tx: Tx, account: { portal: Portal; id: AccountId }, at: Instant): Promise<SessionId[]>
}

/** Identity providers of the configuration. */
export interface IdentityProvidersPort {
  /**
   * Lets a person create an account without permissions by a sign-in with a provider. Throws STATE.CONFLICT if the
   * address has an account, or the provider needs no invitation.
   */
  invite(
    tx: Tx,
    invitation: { portal: Portal; providerId: string; email: string; invitedBy: AccountId },
    at: Instant,
  ): Promise<{ id: string; expiresAt: Instant }>
}

/** Reads and locks workspaces. */
export interface WorkspacesPort {
  /** Locks until the end of the transaction. Returns undefined if the workspace does not exist. */
  lock(tx: Tx, id: WorkspaceId): Promise<LockedWorkspace | undefined>
  exists(id: WorkspaceId): Promise<boolean>
  /** Freezes the workspace that was opened at the account's registration. */
  freezeOwn(tx: Tx, account: AccountId, at: Instant): Promise<void>
}

/** A new workspace, in the transaction that opens it. */
export interface OpenedWorkspace {
  workspaceId: WorkspaceId
  kind: WorkspaceKind
  at: Instant
}

/** A sandbox workspace, in the transaction of its reset. */
export interface SandboxReset {
  workspaceId: WorkspaceId
  at: Instant
}

/** The permissions that the domains of this process declare. */
export interface PermissionsPort {
  /** Those that roles can have, with their marks. */
  workspace: readonly PermissionRow[]
  /** The workspace permissions that API keys can have. */
  apiKey: readonly Permission[]
  operator: readonly Permission[]
}

/** An event to record. */
export interface EventToRecord<Type extends EventType> {
  type: Type
  /** The id of the object. */
  subject: string
  /** The workspace whose members read the event. Null if only operators do. */
  workspaceId: WorkspaceId | null
  data: EventData<Type>
}

/** Events of this deployment. */
export interface EventsPort {
  /** The declared types. */
  types: EventTable
  /** The `source` of events: the URL of this deployment. */
  source: string
  /**
   * Records an event in the transaction of its effect. Throws a TypeError if the domain does not declare its type, or if
   * `data` is invalid.
   */
  record<Type extends EventType>(tx: Tx, event: EventToRecord<Type>): Promise<void>
  /**
   * Returns the events of a feed behind a position, in order: of a workspace, or of the operators if it is null. The caller
   * decides who can read their types.
   */
  readAfter(
    feed: WorkspaceId | null,
    query: { after: number; types: readonly string[]; limit: number },
  ): Promise<StoredEvent[]>
  /** Returns the position of the newest event of a feed, and that before the oldest stored one. */
  endsOf(feed: WorkspaceId | null): Promise<{ oldest: number; newest: number }>
  /**
   * Calls `follower` with each event of a feed that becomes visible after the promise has resolved, in order. All followers
   * share one statement per poll. Returns the function that ends this.
   */
  follow(feed: WorkspaceId | null, follower: Follower): Promise<() => void>
}

/** Facts about this deployment. */
export interface DeploymentPort {
  /** Whether a domain is on. */
  hasDomain(name: string): boolean
  /** The codes of a coded family without those of domains that are off. */
  codesOf(family: string): readonly string[]
  /** How long an upload can take: `requests.uploadTimeoutMs`. */
  uploadTimeoutMs: number
  /** The portals of the configuration. The store can have accounts of others, which cannot sign in. */
  portals: readonly Portal[]
  /** The host names under which clients reach the portals: that of `publicUrl`, and `hosts` of each portal. */
  hosts: readonly string[]
  /** The identity providers of operators. */
  identityProviders: readonly {
    id: string
    issuer: string
    /** The permissions of the roles of groups. Null if the provider gives no roles. */
    permissionsOf(groups: readonly string[]): readonly Permission[] | null
  }[]
}

/** Runs the hooks of all domains in the order of their creation. */
export interface HooksPort {
  workspaceOpened(tx: Tx, workspace: OpenedWorkspace): Promise<void>
  sandboxReset(tx: Tx, reset: SandboxReset): Promise<void>
  /** Suspends an account's credentials. The result omits domains without this hook. */
  accountRecovered(tx: Tx, account: RecoveredAccount): Promise<SuspendedCredentials>
}

/**
 * The ports of a domain's `create` function. Call them only in handlers, jobs and hooks, except `ledger.provideFunds`:
 * `portico config check` calls `create` without a store. There, `provideFunds` has no effect, and another port that needs
 * a store prevents the check of the handlers. If a store is unavailable, a port rejects and the request fails with 503.
 * Do not catch that error.
 */
export interface DomainPorts<Settings = unknown> {
  /**
   * A Kysely instance for single statements. Every statement about a workspace's data names it with `inWorkspace`.
   * `database.statementTimeoutMs` limits a statement of a request.
   */
  database: Database
  /**
   * Runs work in a transaction, which rolls back if the work throws. A conflict can run the work twice, so it only uses
   * `tx`: it sends no mail and calls no service. Inside it, `database`, `ledger` and every other port that uses the store
   * or sends mail throws an Error.
   */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /** Runs a long query without the statement timeout, for jobs over a whole table. */
  withoutTimeouts: OpenDatabase['withoutTimeouts']
  /** Reads one snapshot, so that a long read sees no concurrent change. */
  inSnapshot: ReadSnapshot
  /**
   * Runs a command once per idempotency key, in a transaction, as `transaction` does. `work` returns the operation's JSON
   * reply, which is checked before the commit: an invalid reply rolls back. A repeated request gets the stored reply. The
   * same id with another body throws REQUEST.ID_REUSED. Idempotent operations of extensions must call it, or they fail
   * with 500. Writes an audit entry about the `bizId` of the reply, unless `work` calls `recordSuccess` or a command of
   * the ledger with `audit`. `enqueueJob` takes effect with the command.
   */
  once<Reply>(request: IdempotentRequest, work: (tx: Tx) => Promise<Reply>): Promise<Reply>
  /** Wallets, orders and postings. */
  ledger: Ledger
  /** The currencies of this deployment: `money.currencies`. */
  currencies: readonly string[]
  /** The time, as epoch milliseconds. `toIso` formats it, and `addMs` adds to it. */
  clock: Clock
  /** New UUIDs of version 7, which sort by creation time. */
  ids: Ids
  /** Cryptographically secure random values. */
  randomness: Randomness
  /**
   * Translated texts of codes, permissions, coded values and other keys of the domain. Missing texts fall back to
   * English.
   */
  words: Words
  /**
   * Sends a mail with a template of `mails`, named `<domain>.<name>`. Throws SYSTEM.UNAVAILABLE if the mail server
   * fails, so send it in a job of `gatewayJobs`. Throws a TypeError for an unknown template.
   */
  mailer: Mailer
  /**
   * Stores files, on disk or in S3, by area and id: `receipts/<uuid>`. A missing blob is undefined. Blobs are outside
   * transactions: write before the row that names it, and delete after.
   */
  blobs: Blobs
  /** Counters and texts with a TTL, in Redis or in this process. They can be lost at any time. */
  cache: DomainCache
  /** Limits beyond a rate group, such as a daily total. Exceeding one throws ACCESS.RATE_LIMITED. */
  limits: DomainLimits
  /** Encrypts secrets for the store. */
  secretBox: SecretBox
  /** Returns a keyed digest, which can find an encrypted value. */
  digest: KeyedDigest
  /** Addresses and names of people, for mails. */
  accounts: AccountsPort
  sessions: SessionsPort
  factors: FactorsPort
  identityProviders: IdentityProvidersPort
  workspaces: WorkspacesPort
  hooks: HooksPort
  /** Writes JSON lines with the domain's name. Never log a secret, a body or an address. */
  logger: Logger
  permissions: PermissionsPort
  events: EventsPort
  deployment: DeploymentPort
  /** The settings in `domains.<name>` of the configuration, or at `settingsKey`, parsed by the `settings` schema. */
  settings: Settings
  /** Whether an ISO 3166 alpha-2 code exists. */
  isCountry(alpha2: string): boolean
  /**
   * Returns a telephone number in E.164, or undefined if it is not one. The country completes a national number. An empty
   * text stays empty.
   */
  parsePhone(text: string, alpha2: string): string | undefined
  /** Returns the absolute URL of a portal's sign-in page. */
  signInUrl(portal: Portal): string
  /** Returns the service of a domain listed in `uses`. */
  use<Name extends keyof DomainServices>(name: Name): DomainServices[Name]
}

declare global {
  /**
   * Services of domains outside this package. Add one with `declare global { interface PorticoServices { ... } }`.
   */
  interface PorticoServices {}
}

/**
 * Services by domain. Portico's own domains add theirs by declaration merging: `declare module '../../api/ports.ts'
 * { interface DomainServices { members: Members } }`.
 */
export interface DomainServices extends PorticoServices {}

/** The names for `needs`. Every domain also gets `settings`, and with `uses` the function `use`. */
export type PortName = Exclude<keyof DomainPorts, 'settings' | 'use'>

/** The ports of a domain with these `needs` and `uses`. */
export type PortsOf<Settings, Needs extends readonly PortName[], Uses extends readonly string[]> = Pick<
  DomainPorts<Settings>,
  Needs[number] | 'settings'
> & {
  /** Returns the service of a domain listed in `uses`. */
  use<Name extends Uses[number] & keyof DomainServices>(name: Name): DomainServices[Name]
}

const ports: Readonly<Record<PortName, true>> = {
  database: true,
  transaction: true,
  withoutTimeouts: true,
  inSnapshot: true,
  once: true,
  ledger: true,
  currencies: true,
  clock: true,
  ids: true,
  randomness: true,
  words: true,
  mailer: true,
  blobs: true,
  cache: true,
  limits: true,
  secretBox: true,
  digest: true,
  accounts: true,
  sessions: true,
  factors: true,
  identityProviders: true,
  workspaces: true,
  hooks: true,
  logger: true,
  permissions: true,
  events: true,
  deployment: true,
  isCountry: true,
  parsePhone: true,
  signInUrl: true,
}

export function isPortName(name: unknown): name is PortName {
  return typeof name === 'string' && Object.hasOwn(ports, name)
}

export const portNames: readonly PortName[] = Object.keys(ports).filter(isPortName).toSorted()
