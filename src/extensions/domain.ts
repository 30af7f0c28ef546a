import type { Logger } from 'pino'
import type { z } from 'zod'
import type { Permissions } from '../contract/permissions.ts'
import type { Database, Migration, Tx } from '../database/index.ts'
import {
  type Caller,
  type Clock,
  type CodeTable,
  codedFamily,
  type HandlersOf,
  type Idempotency,
  type Ids,
  type Instant,
  type Operation,
  type RequestContext,
  type Words,
  type WorkspaceAccess,
  type WorkspaceId,
} from '../kernel/index.ts'
import type { Ledger } from '../ledger/index.ts'
import type { JobKind } from '../platform/jobs/index.ts'

/** A request of an operation whose policy sets `idempotent`. */
export interface IdempotentRequest extends RequestContext {
  caller: Caller
  workspace: WorkspaceAccess | null
  idempotency: Idempotency
}

/** The ports that a domain's `create` function receives. */
export interface DomainPorts<Settings = unknown> {
  /** The store, as a Kysely instance. */
  database: Database
  /** Runs work in a transaction. It can run twice if the transaction conflicts with another one. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /**
   * Runs a command once per X-Request-Id, in a transaction. A repeated request gets the stored reply; the same id with another
   * body throws REQUEST.ID_REUSED. The reply must be JSON. Every idempotent operation calls it: a handler that returns
   * without it fails with 500.
   */
  once<Reply>(request: IdempotentRequest, work: (tx: Tx) => Promise<Reply>): Promise<Reply>
  ledger: Ledger
  clock: Clock
  ids: Ids
  words: Words
  logger: Logger
  /** The configuration under `domains.<name>`, parsed by the `settings` schema. */
  settings: Settings
}

/** The result of a domain's `create` function. */
export interface DomainParts<Operations> {
  /** A handler per operation. */
  handlers: HandlersOf<Operations>
  /** Background jobs. Their names begin with the name of the domain and a dot. */
  jobs?: readonly JobKind[]
  /** Deletes the data of a sandbox workspace, in the transaction of the reset. */
  onSandboxReset?(tx: Tx, workspace: { workspaceId: WorkspaceId; at: Instant }): Promise<void>
}

/** Operations that a module adds to Portico, with the declarations that they need. */
export interface DomainDefinition<Operations extends Readonly<Record<string, Operation>>, Settings extends z.ZodType> {
  /** The part of each operation id before the dot. */
  name: string
  /** The description of the OpenAPI tag. */
  summary: string
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
  /** Directory with `<locale>.yaml` files. Only `en.yaml` is required; other languages fall back to English. */
  locales?: URL
  /** Schema of the configuration under `domains.<name>`. */
  settings?: Settings
  /** Numbered migrations of the tables of the domain. A released migration never changes. */
  migrations?: readonly Migration[]
  create(ports: DomainPorts<z.output<Settings>>): DomainParts<Operations>
}

/** A domain of any operations and settings. */
export type Domain = DomainDefinition<Readonly<Record<string, Operation>>, z.ZodType>

/** A domain, and the file in `extensions` that declares it. */
export interface Extension extends Domain {
  file: string
}

/** Declares a domain and infers the types of its handlers and settings. */
export const domain = <
  const Operations extends Readonly<Record<string, Operation>>,
  Settings extends z.ZodType = z.ZodType<Record<string, never>>,
>(
  definition: DomainDefinition<Operations, Settings>,
): DomainDefinition<Operations, Settings> => definition

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
  { operations, summary, permissions = {}, codes = {}, codedValues = {} }: Domain,
  index: number,
): object => {
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
