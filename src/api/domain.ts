import type { Logger } from 'pino'
import type { z } from 'zod'
import type { Configuration } from '../config/index.ts'
import type { Catalogue } from '../contract/index.ts'
import type { Permissions } from '../contract/permissions.ts'
import type { Database, Migration, OpenDatabase, ReadSnapshot, Tx } from '../database/index.ts'
import {
  type AccountId,
  type Caller,
  type Clock,
  type CodeTable,
  codedFamily,
  type HandlersOf,
  type HandlerTable,
  type Idempotency,
  type Ids,
  type Instant,
  type Locale,
  type Operation,
  operationsIn,
  type Portal,
  type Randomness,
  type RequestContext,
  type SessionId,
  type Words,
  type WorkspaceAccess,
  type WorkspaceId,
  type WorkspaceKind,
  type WorkspaceStatus,
} from '../kernel/index.ts'
import type { Ledger } from '../ledger/index.ts'
import type { Blobs } from '../platform/blobs/index.ts'
import type { Cache } from '../platform/cache/index.ts'
import type { KeyedDigest, SecretBox } from '../platform/crypto/index.ts'
import type { JobKind } from '../platform/jobs/index.ts'
import type { Limits } from '../platform/limits/index.ts'
import type { Mailer } from '../platform/mail/index.ts'
import type { DomainServices } from './services.ts'

/** A request of an operation whose policy sets `idempotent`. */
export interface IdempotentRequest extends RequestContext {
  caller: Caller
  workspace: WorkspaceAccess | null
  idempotency: Idempotency
}

/** Ends and checks sessions of accounts. */
export interface SessionsPort {
  /** Ends the sessions of an account whose row is locked. Returns the ids of the sessions that were active. */
  end(
    tx: Tx,
    account: { portal: Portal; id: AccountId },
    reason: 'TERMINATED' | 'ACCOUNT_CLOSED',
    at: Instant,
  ): Promise<SessionId[]>
  /** Removes ended sessions from the cache of this process. Call it after the commit. */
  invalidate(ids: readonly SessionId[]): void
  /** Throws ACCESS.IP_NOT_ALLOWED if the IP whitelist of an account excludes an address. */
  assertAddressAllowed(
    account: { portal: Portal; accountId: AccountId; ipWhitelistEnabled: boolean },
    clientIp: string,
  ): Promise<void>
}

export interface LockedWorkspace {
  id: WorkspaceId
  name: string
  kind: WorkspaceKind
  status: WorkspaceStatus
}

/** The account of a person, for mails. */
export interface Recipient {
  email: string
  name: string
  /** The language of mails that no request causes. */
  locale: Locale
}

export interface AccountsPort {
  /** Returns undefined for an unknown account. */
  read(portal: Portal, id: AccountId): Promise<Recipient | undefined>
}

/** Rows of workspaces. */
export interface WorkspacesPort {
  /** Locks a workspace until the end of the transaction. Returns undefined for an unknown one. */
  lock(tx: Tx, id: WorkspaceId): Promise<LockedWorkspace | undefined>
  exists(id: WorkspaceId): Promise<boolean>
  /** Freezes the workspace that was opened when the account registered. */
  freezeOwn(tx: Tx, account: AccountId, at: Instant): Promise<void>
}

/** A workspace in the transaction that opens it. */
export interface OpenedWorkspace {
  workspaceId: WorkspaceId
  kind: WorkspaceKind
  at: Instant
}

/** A sandbox workspace in the transaction that resets it. */
export interface SandboxReset {
  workspaceId: WorkspaceId
  at: Instant
}

/** Runs the hooks of all domains, in the order in which the domains were created. */
export interface HooksPort {
  workspaceOpened(tx: Tx, workspace: OpenedWorkspace): Promise<void>
  sandboxReset(tx: Tx, reset: SandboxReset): Promise<void>
}

/** The ports that a domain's `create` function receives. */
export interface DomainPorts<Settings = unknown> {
  /** The store, as a Kysely instance. */
  database: Database
  /** Runs work in a transaction. It can run twice if the transaction conflicts with another one. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /** Runs a long query without the statement timeout of requests. */
  withoutTimeouts: OpenDatabase['withoutTimeouts']
  /** Reads from one snapshot of the store, so that a long read sees no concurrent change. */
  inSnapshot: ReadSnapshot
  /**
   * Runs a command once per X-Request-Id, in a transaction. A repeated request gets the stored reply; the same id with another
   * body throws REQUEST.ID_REUSED. The reply must be JSON. Every idempotent operation of an extension calls it: a handler
   * that returns without it fails with 500.
   */
  once<Reply>(request: IdempotentRequest, work: (tx: Tx) => Promise<Reply>): Promise<Reply>
  /** Wallets, orders and postings. */
  ledger: Ledger
  clock: Clock
  ids: Ids
  randomness: Randomness
  /** Translated texts of codes, permissions and coded values. */
  words: Words
  mailer: Mailer
  /** Stores files, on disk or in S3. */
  blobs: Blobs
  /** Counters and replay windows, in Redis or in this process. They can be lost at any time. */
  cache: Cache
  limits: Limits
  /** Encrypts secrets for the store. */
  secretBox: SecretBox
  /** Returns a keyed digest. Equal values have equal digests, so an encrypted value can be found by it. */
  digest: KeyedDigest
  accounts: AccountsPort
  sessions: SessionsPort
  workspaces: WorkspacesPort
  hooks: HooksPort
  logger: Logger
  /** The declarations of all domains in this process. */
  catalogue: Catalogue
  /** The whole configuration. */
  configuration: Configuration
  /** The configuration under `domains.<name>`, parsed by the `settings` schema. */
  settings: Settings
  /** Whether a country has this ISO 3166 alpha-2 code. */
  isCountry(alpha2: string): boolean
  /** Absolute URL of the sign-in page of a portal. */
  signInUrl(portal: Portal): string
  /** Returns the service of a domain that `uses` lists. */
  use<Name extends keyof DomainServices>(name: Name): DomainServices[Name]
}

/** The result of a domain's `create` function. */
export interface DomainParts<Operations> {
  /** A handler per operation, by the name of the operation; or a table by operation id. */
  handlers: HandlersOf<Operations> | HandlerTable
  /** Background jobs. They run where the handlers run. Their names begin with the name of the domain and a dot. */
  jobs?: readonly JobKind[]
  /** Background jobs that run in the gateway, because only the gateway sends mail. */
  gatewayJobs?: readonly JobKind[]
  /** Functions for other domains, which get them by `use`. */
  service?: object
  /** Adds the data of a new workspace, in the transaction that opens it. */
  onWorkspaceOpened?(tx: Tx, workspace: OpenedWorkspace): Promise<void>
  /** Deletes the data of a sandbox workspace, in the transaction of the reset. */
  onSandboxReset?(tx: Tx, reset: SandboxReset): Promise<void>
  /** Releases resources when the process stops. The store is still open. */
  close?(): void | Promise<void>
}

/** Operations that a module adds to Portico, with the declarations that they need. */
export interface DomainDefinition<Operations extends object, Settings extends z.ZodType> {
  /** The part of each operation id before the dot. */
  name: string
  /** The description of the OpenAPI tag. */
  summary: string
  /** The operations by name, or a module that exports them. Other exports of a module are ignored. */
  operations: Operations
  /** The actions of each permission group. Each action is a permission `<group>:<action>`. */
  permissions?: {
    readonly workspace?: Readonly<Record<string, readonly string[]>>
    readonly operator?: Readonly<Record<string, readonly string[]>>
  }
  /** Refusal codes with their HTTP status. */
  codes?: CodeTable
  /** Numbers by family and code. */
  codedValues?: Readonly<Record<string, Readonly<Record<string, number>>>>
  /** A module that declares summary, permissions, codes and coded values, in place of the fields above. */
  contract?: object
  /** Directory with `<locale>.yaml` files. Only `en.yaml` is required; other languages fall back to English. */
  locales?: URL
  /**
   * The mails of the domain: `<name>/<locale>.yaml` in a directory, and the values of each mail by its name. `mailer.send`
   * gets the template `<domain>.<name>`. Only `en.yaml` is required.
   */
  mails?: { readonly directory: URL; readonly templates: Readonly<Record<string, readonly string[]>> }
  /** Schema of the configuration under `domains.<name>`. */
  settings?: Settings
  /** Numbered migrations of the tables of the domain. A released migration never changes. */
  migrations?: readonly Migration[]
  /** Names of the domains that must be present. They are created first. */
  uses?: readonly string[]
  create(ports: DomainPorts<z.output<Settings>>): DomainParts<Operations> | Promise<DomainParts<Operations>>
}

/** A domain of any operations and settings. */
export type Domain = DomainDefinition<Readonly<Record<string, Operation>>, z.ZodType>

/** A domain, and the place that names it, for error messages. */
export interface LoadedDomain extends Domain {
  source: string
  /** Whether the domain is one of Portico's own. */
  isOurs: boolean
  /** Whether an HTTP service handles the operations, because a document declares them. */
  isRemote?: boolean
  /** Texts by language, instead of a directory. */
  texts?: Readonly<Record<string, unknown>>
}

/** Whether a value is the namespace of a module, as `import * as` creates it. */
const isModule = (value: object): boolean => Reflect.get(value, Symbol.toStringTag) === 'Module'

/** Declares a domain and infers the types of its handlers and settings. */
export const domain = <const Operations extends object, Settings extends z.ZodType = z.ZodType<Record<string, never>>>(
  definition: DomainDefinition<Operations, Settings>,
): Domain => {
  const { operations } = definition
  // `create` returns a handler per operation; the composition calls it with requests that the operation has parsed.
  const declared = definition as DomainDefinition<object, z.ZodType> as Domain
  return isModule(operations) ? { ...declared, operations: Object.fromEntries(operationsIn(operations)) } : declared
}

/** Returns the fields of a domain whose declarations are the exports of one module. */
export const declaredBy = <Contract extends object>(contract: Contract) => ({
  summary: 'summary' in contract && typeof contract.summary === 'string' ? contract.summary : '',
  operations: contract,
  contract,
})

/** Position of the first permission of an extension in the permission table, after all of Portico's own. */
const firstSortOrder = 100_000
const sortOrdersPerDomain = 1_000

const toGroups = (groups: Readonly<Record<string, readonly string[]>>, sortOrder: number) => {
  let next = sortOrder
  return Object.fromEntries(
    Object.entries(groups).map(([group, actions]) => {
      const first = next
      next += actions.length
      return [group, { sortOrder: first, actions }]
    }),
  )
}

/** Returns the declarations of a domain in the form of a contract file. `index` is its place among the extensions. */
export const toContract = (
  { contract, operations, summary, permissions = {}, codes = {}, codedValues = {} }: Domain,
  index: number,
): object => {
  if (contract) return contract
  const sortOrder = firstSortOrder + index * sortOrdersPerDomain
  return {
    ...operations,
    ...Object.fromEntries(
      Object.entries(codedValues).map(([family, values]) => [`family ${family}`, codedFamily(family, values)]),
    ),
    summary,
    codes,
    permissions: {
      workspace: toGroups(permissions.workspace ?? {}, sortOrder),
      operator: toGroups(permissions.operator ?? {}, sortOrder),
    } satisfies Permissions,
  }
}
