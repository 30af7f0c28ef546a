import type { z } from 'zod'
import type { SettingsContext, SettingsDeclaration } from '../config/index.ts'
import type { CloudEvent, EventData, Events, EventType } from '../contract/events/event.ts'
import type { LedgerTypes } from '../contract/ledger/ledger-types.ts'
import { marksOf, type PermissionMarks, type Permissions } from '../contract/permissions.ts'
import type { Migration, Tx } from '../database/index.ts'
import {
  type CodeTable,
  codedFamily,
  type HandlersOf,
  type HandlerTable,
  type Operation,
  operationsIn,
  type RateGroups,
  type RecoveredAccount,
  recordCallSite,
  type Suspended,
} from '../kernel/index.ts'
import type { EventConsumer, EventMapper } from '../platform/events/index.ts'
import type { JobKind } from '../platform/jobs/index.ts'
import type { KeyedColumns } from '../platform/key-rotation/index.ts'
import type { Hook } from './hooks.ts'
import type { DomainPorts, OpenedWorkspace, PortName, PortsOf, SandboxReset } from './ports.ts'

export type { Hook, HookRequest } from './hooks.ts'
export type {
  AccountsPort,
  DeploymentPort,
  DomainPorts,
  DomainServices,
  EventsPort,
  HooksPort,
  IdempotentRequest,
  OpenedWorkspace,
  SandboxReset,
  SessionsPort,
  WorkspacesPort,
} from './ports.ts'
export type { SettingsContext, SettingsDeclaration }

/** The result of a domain's `create` function. */
export interface DomainParts<Operations> {
  /** A handler per operation name, or a table by operation id. */
  handlers: HandlersOf<Operations> | HandlerTable
  /**
   * Background jobs, named `<domain>.<name>`. They run where the handlers run, on one replica at a time. `enqueueJob`
   * adds one. A failed job is retried up to `attempts` times with growing pauses.
   */
  jobs?: readonly JobKind[]
  /** Background jobs in the gateway, the only process that sends mail. */
  gatewayJobs?: readonly JobKind[]
  /** Turns changes of the domain's tables into events. */
  events?: readonly EventMapper[]
  /** Receives the events of all domains. */
  onEvents?: EventConsumer
  /** Functions for other domains, which get them with `use`. */
  service?: object
  /** Adds a new workspace's data, in the transaction that opens it. */
  onWorkspaceOpened?(tx: Tx, workspace: OpenedWorkspace): Promise<void>
  /** Deletes a sandbox workspace's data, in the transaction of the reset. */
  onSandboxReset?(tx: Tx, reset: SandboxReset): Promise<void>
  /**
   * Suspends what a thief could still use: what the account created and what acts for it. Runs with the account's row
   * locked, in the transaction of a password reset by link or of an operator's command that ends the account's
   * sessions. Returns the number of suspended credentials, or their ids for the audit log.
   */
  onAccountRecovered?(tx: Tx, account: RecoveredAccount): Promise<Suspended>
  /** Releases resources at the end of the process, before the store closes. */
  close?(): void | Promise<void>
}

/** The actions of a permission group, and which of them have special rules. */
export type PermissionActions = readonly string[] | (PermissionMarks & { readonly actions: readonly string[] })

/** The second argument of a reaction to an event, and of a hook. */
export type ReactionPorts<Settings, Needs extends readonly PortName[], Uses extends readonly string[]> = PortsOf<
  Settings,
  Needs,
  Uses
> & {
  /** The transaction of the reaction's effects. It also records that the reaction has taken effect. */
  tx: Tx
}

/**
 * Reacts to an event, as a job of the domain. It runs at least once, and its effects through `tx` commit once. A failed
 * reaction is retried with growing pauses. Inside it, `database`, `ledger` and every other port that uses the store throws
 * an Error: use `tx`, or `enqueueJob` for what must follow.
 */
export type Reactions<Settings, Needs extends readonly PortName[], Uses extends readonly string[]> = {
  readonly [Type in EventType]?: (
    event: CloudEvent<Type, EventData<Type>>,
    ports: ReactionPorts<Settings, Needs, Uses>,
  ) => Promise<void>
}

/** Operations that a module adds to Portico, with their declarations. */
export interface DomainDefinition<
  Operations extends object,
  Settings extends z.ZodType,
  Needs extends readonly PortName[] = readonly PortName[],
  Uses extends readonly string[] = readonly string[],
> extends SettingsDeclaration<Settings> {
  /** The part of each operation id before the dot. */
  name: string
  /** The description of the OpenAPI tag. */
  summary: string
  /** Operations by name, or a module that exports them. Its other exports are ignored. */
  operations: Operations
  /** The actions of each permission group. Each action is a permission `<group>:<action>`. */
  permissions?: {
    readonly workspace?: Readonly<Record<string, PermissionActions>>
    readonly operator?: Readonly<Record<string, PermissionActions>>
  }
  /**
   * Rate limit groups for `policy.rate`, with default limits. `limits.groups` and `portals.<portal>.limits.groups` of
   * the configuration replace them.
   */
  rateGroups?: RateGroups
  /** Refusal codes with their HTTP status. */
  codes?: CodeTable
  /** Numbers of coded values, by family and code. */
  codedValues?: Readonly<Record<string, Readonly<Record<string, number>>>>
  /**
   * Order types, flow types and house accounts. Declaration merging adds them to the commands of `ledger`: `declare
   * global { interface PorticoLedger { loans: typeof ledgerTypes } }`.
   */
  ledger?: LedgerTypes
  /**
   * Types of events that the domain records with the port `events`. Declaration merging adds them to its types:
   * `declare global { interface PorticoEvents { loans: typeof events } }`.
   */
  events?: Events
  /** Reactions to events of any domain, by type. */
  on?: Reactions<z.output<Settings>, Needs, Uses>
  /**
   * A module that declares summary, permissions, rate groups, codes, coded values, ledger types and events, instead of the
   * fields above.
   */
  contract?: object
  /**
   * Hooks of commands, by operation id of any domain. The codes in `codes` become refusals of these operations. Hooks
   * of several domains run in the order of the domains.
   */
  before?: Readonly<Record<string, Hook<ReactionPorts<z.output<Settings>, Needs, Uses>>>>
  /** Directory with `<locale>.yaml` files. Only `en.yaml` is required. Other languages fall back to English. */
  locales?: URL
  /**
   * The domain's mails: a directory with `<name>/<locale>.yaml`, and the names of each mail's values. `mailer.send`
   * gets `<domain>.<name>`. Only `en.yaml` is required. Only values named `url` or `…Url` can be links.
   */
  mails?: { readonly directory: URL; readonly templates: Readonly<Record<string, readonly string[]>> }
  /**
   * Kinds of notices to the owners of a workspace, such as `LOAN_GRANTED`, with the texts `notice.owners.<kind>.event` and
   * `notice.owners.<kind>.advice`. `use('members').notices` queues them.
   */
  ownerNotices?: readonly string[]
  /** Numbered migrations. Never change a released one. */
  migrations?: readonly Migration[]
  /** The columns of the domain's tables that depend on the secret key. `portico keys reseal` seals them again. */
  keyedColumns?: KeyedColumns
  /** Domains that must be present. They are created first. */
  uses?: Uses
  /** The ports that `create` gets. It can reach no other part of Portico through its ports. */
  needs?: Needs
  create(ports: PortsOf<z.output<Settings>, Needs, Uses>): DomainParts<Operations> | Promise<DomainParts<Operations>>
}

/** A reaction to events of any type. The composition calls it with the events of its type only. */
type AnyReaction = (event: CloudEvent, ports: Partial<DomainPorts> & { tx: Tx }) => Promise<void>

/** A domain with any operations and settings. */
export interface Domain
  extends Omit<DomainDefinition<Readonly<Record<string, Operation>>, z.ZodType>, 'on' | 'before'> {
  on?: Readonly<Record<string, AnyReaction>>
  before?: Readonly<Record<string, Hook<Partial<DomainPorts> & { tx: Tx }>>>
}

export interface LoadedDomain extends Domain {
  source: string
  isOurs: boolean
  /** Whether an HTTP service serves the operations, because a document declares them. */
  isRemote?: boolean
  /** Texts by language, as an alternative to `locales`. */
  texts?: Readonly<Record<string, unknown>>
}

/**
 * Declares a domain. TypeScript infers the types of its handlers and settings. Errors at start name the file and line of
 * the call.
 */
export function domain<
  const Operations extends object,
  Settings extends z.ZodType = z.ZodType<Record<string, never>>,
  const Needs extends readonly PortName[] = [],
  const Uses extends readonly string[] = [],
>(definition: DomainDefinition<Operations, Settings, Needs, Uses>): Domain {
  const { operations } = definition
  // The composition calls `create`'s handlers only with validated requests.
  const declared = definition as DomainDefinition<object, z.ZodType> as Domain
  const result = isModule(operations)
    ? { ...declared, operations: Object.fromEntries(operationsIn(operations)) }
    : declared
  recordCallSite(result)
  return result
}

/** The summary, operations and declarations of a contract module: `domain({ name, ...declaredBy(contract), create })`. */
export function declaredBy<Contract extends object>(contract: Contract) {
  return {
    summary: 'summary' in contract && typeof contract.summary === 'string' ? contract.summary : '',
    operations: contract,
    contract,
  }
}

/** After Portico's own permissions. */
const firstSortOrder = 100_000
const sortOrdersPerDomain = 1_000

export function actionsOf(declared: PermissionActions): PermissionMarks & { actions: readonly string[] } {
  return 'actions' in declared ? declared : { actions: declared }
}

export function toContract(
  {
    contract,
    operations,
    summary,
    permissions = {},
    rateGroups = {},
    codes = {},
    codedValues = {},
    ledger = {},
    events = {},
  }: Domain,
  index: number,
): object {
  if (contract) return contract
  const sortOrder = firstSortOrder + index * sortOrdersPerDomain
  return {
    ...operations,
    ...Object.fromEntries(
      Object.entries(codedValues).map(([family, values]) => [`family ${family}`, codedFamily(family, values)]),
    ),
    summary,
    codes,
    ledgerTypes: ledger,
    events,
    rateGroups,
    permissions: {
      workspace: toGroups(permissions.workspace ?? {}, sortOrder),
      operator: toGroups(permissions.operator ?? {}, sortOrder),
    } satisfies Permissions,
  }
}

/** Whether a value is a module's namespace, as created by `import * as`. */
function isModule(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Reflect.get(value, Symbol.toStringTag) === 'Module'
}

function toGroups(groups: Readonly<Record<string, PermissionActions>>, sortOrder: number) {
  let next = sortOrder
  return Object.fromEntries(
    Object.entries(groups).map(([group, declared]) => {
      const { actions, ...marks } = actionsOf(declared)
      const first = next
      next += actions.length
      return [group, { sortOrder: first, actions, ...marksOf(marks) }]
    }),
  )
}
