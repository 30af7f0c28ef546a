import * as z from 'zod'
import { type Permission, type ReportError, recordCallSite } from '../../kernel/index.ts'
import { bizId, timestamp } from '../fields.ts'
import { joinDeclarations } from '../permissions.ts'

/** Who can read an event: the members of a workspace and operators, or operators only. */
export type Audience = 'workspace' | 'operators'

/** A type of events: its content, and its readers. */
export interface EventDeclaration<Data extends z.ZodType = z.ZodType> {
  readonly summary: string
  /** The view of the object that the audience reads elsewhere. */
  readonly data: Data
  readonly audience: Audience
  /** Readers must hold it: a workspace permission, or an operator's one if the audience is `operators`. */
  readonly permission: Permission
  /** Operators must hold it. Default: `permission`. Null if no operator reads these events. */
  readonly operatorPermission?: Permission | null
}

/** Events by type, such as `transfer.completed`: the object, and what happened to it. */
export type Events = Readonly<Record<string, EventDeclaration>>

declare global {
  /** The events of domains, by domain: `declare global { interface PorticoEvents { loans: typeof events } }`. */
  interface PorticoEvents {}
}

type Declared = PorticoEvents[keyof PorticoEvents]
type KeysOf<T> = T extends unknown ? keyof T & string : never
type DataIn<All, Type extends string> =
  All extends Readonly<Record<Type, EventDeclaration<infer Data>>> ? z.output<Data> : never

/** The declared types of events. */
export type EventType = KeysOf<Declared>

/** The data of a type of events. */
export type EventData<Type extends EventType> = DataIn<Declared, Type>

export const eventTypePattern = /^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$/

/**
 * An event in the format of CloudEvents 1.0 (https://cloudevents.io). `workspacebizid` is absent from events about no
 * workspace.
 */
export interface CloudEvent<Type extends string = string, Data = unknown> {
  readonly specversion: '1.0'
  /** Repeated deliveries have the same id. */
  readonly id: string
  readonly source: string
  readonly type: Type
  /** ISO 8601, in UTC. */
  readonly time: string
  /** The id of the object. */
  readonly subject: string
  readonly datacontenttype: 'application/json'
  readonly workspacebizid?: string | undefined
  readonly data: Data
}

/** The schema of a `CloudEvent` with any data. */
export const CloudEventSchema = /* @__PURE__ */ z
  .object({
    specversion: z.literal('1.0'),
    id: bizId,
    source: z.string(),
    type: z.string(),
    time: timestamp,
    subject: z.string(),
    datacontenttype: z.literal('application/json'),
    workspacebizid: bizId.optional(),
    data: z.unknown(),
  })
  .meta({ title: 'CloudEvent', description: 'An event in the format of CloudEvents 1.0.' })

/**
 * Declares a type of events.
 * @__NO_SIDE_EFFECTS__
 */
export function event<const Declaration extends EventDeclaration>(declared: Declaration): Declaration {
  recordCallSite(declared)
  return declared
}

/** `wallet.frozen` for the wallet that is FROZEN. */
export function eventTypeOf(name: string, status: string): string {
  return `${name}.${status}`.toLowerCase()
}

export type StatusEvents<Name extends string, Status extends string, Data extends z.ZodType> = {
  readonly [S in Status as `${Lowercase<Name>}.${Lowercase<S>}`]: EventDeclaration<Data>
}

/**
 * Declares a type of events for each status. `object` begins the summaries, such as `A wallet`.
 * @__NO_SIDE_EFFECTS__
 */
export function statusEvents<const Name extends string, Status extends string, Data extends z.ZodType>(
  name: Name,
  statuses: readonly Status[],
  { object, ...declared }: Omit<EventDeclaration<Data>, 'summary'> & { object: string },
): StatusEvents<Name, Status, Data> {
  const entries = statuses.map((status) => {
    const summary = `${object} is ${status.toLowerCase().replaceAll('_', ' ')}.`
    return [eventTypeOf(name, status), event({ ...declared, summary })]
  })
  // `Object.fromEntries` loses the names.
  return Object.fromEntries(entries) as StatusEvents<Name, Status, Data>
}

export interface EventRow extends EventDeclaration {
  readonly owner: string
  /** The domains that react to it. */
  readonly reactions?: readonly string[]
  readonly operatorPermission: Permission | null
}

export type EventTable = ReadonlyMap<string, EventRow>

/** Reports a type that is declared twice or has no valid name, and a permission that nobody declares. */
export function collectEvents(
  contracts: Readonly<Record<string, object>>,
  permissions: { workspace: readonly Permission[]; operator: readonly Permission[] },
  report: ReportError,
): EventTable {
  const rows = Object.entries(contracts).flatMap(([owner, contract]) =>
    Object.entries(eventsOf(contract)).map(([type, declared]) => {
      const row: EventRow = { operatorPermission: declared.permission, ...declared, owner }
      return [owner, type, row, `events.${type}`] as const
    }),
  )
  for (const [owner, type, row] of rows) {
    const fail = (field: string, message: string): void =>
      report({ owner, message: `events.${type}${field}: ${message}`, declared: eventsOf(contracts[owner] ?? {})[type] })
    if (!eventTypePattern.test(type)) fail('', 'must be a name such as loan.granted')
    if (row.audience === 'workspace' && !permissions.workspace.includes(row.permission))
      fail('.permission', `no owner declares ${row.permission} in permissions.workspace; add it there`)
    if (row.operatorPermission !== null && !permissions.operator.includes(row.operatorPermission))
      fail(
        '.operatorPermission',
        `no owner declares ${row.operatorPermission} in permissions.operator; add it there, or set operatorPermission to null`,
      )
  }
  return joinDeclarations('event', rows, report)
}

export function eventsOf(contract: object): Events {
  return 'events' in contract ? (contract.events as Events) : {}
}
