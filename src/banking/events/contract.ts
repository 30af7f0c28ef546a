import * as z from 'zod'
import { CloudEventSchema, eventTypePattern } from '../../contract/events/event.ts'
import type { Permissions } from '../../contract/permissions.ts'
import { member, operator } from '../../contract/policies.ts'
import { operation } from '../../kernel/index.ts'

export const summary = 'What happened, in order. Poll the feed, or open a stream.'

export const codes = {
  'EVENT.CURSOR_EXPIRED': { status: 410 },
} as const

declare module '../../kernel/codes.ts' {
  interface CodesByOwner {
    events: typeof codes
  }
}

export const permissions = {
  workspace: { event: { sortOrder: 1500, actions: ['read'] } },
  operator: { event: { sortOrder: 1600, actions: ['read'] } },
} as const satisfies Permissions

const maxTypes = 100

/** A position in a feed. Clients treat it as opaque. */
export const cursor = z.string().regex(/^\d{1,15}$/)

const typeList = z
  .string()
  .max(4_000)
  .transform((text) => text.split(','))
  .pipe(z.array(z.string().regex(eventTypePattern)).min(1).max(maxTypes))

/** Filters by type. Without it, the caller gets every type that it can read. */
export const typeFilter = {
  type: typeList
    .optional()
    .meta({ description: 'Types of events, separated by commas. Default: all that you can read.' }),
}

const feed = {
  method: 'GET',
  query: z.strictObject({
    after: cursor.optional().meta({
      description: '`nextCursor` of the previous reply. Default: the start of the oldest stored event.',
    }),
    ...typeFilter,
    limit: z
      .string()
      .regex(/^\d{1,3}$/)
      .transform(Number)
      .pipe(z.int().min(1).max(500))
      .default(100)
      .meta({ description: 'Maximum number of events.' }),
  }),
  body: 'none',
  reply: z
    .object({
      events: z.array(CloudEventSchema),
      nextCursor: z.string().meta({ description: 'The next `after`, also of an empty reply.' }),
      hasMore: z.boolean(),
      latestCursor: z.string().meta({ description: 'The `after` that skips all present events.' }),
    })
    .meta({ title: 'EventFeed' }),
  refuses: ['EVENT.CURSOR_EXPIRED'],
} as const

export const listEvents = operation({
  ...feed,
  id: 'events.list',
  path: '/events',
  chains: ['consumer', 'api'],
  summary: 'List the events of a workspace, oldest first',
  policy: { ...member, workspace: 'required', permission: 'event:read' },
})

const stream = {
  method: 'GET',
  query: z.strictObject(typeFilter),
  body: 'none',
  reply: 'events',
  description:
    'Each event has the `id` of its cursor, the type as `event`, and the CloudEvent as `data`. `Last-Event-ID` resumes after a cursor. Without it, the stream begins with the next event.',
  refuses: ['EVENT.CURSOR_EXPIRED'],
} as const

export const streamEvents = operation({
  ...stream,
  id: 'events.stream',
  path: '/events/stream',
  chains: ['consumer', 'api'],
  summary: 'Stream the events of a workspace',
  policy: { ...member, channel: 'none', workspace: 'required', permission: 'event:read' },
})

export const streamAllEvents = operation({
  ...stream,
  id: 'events.streamAll',
  path: '/events/stream',
  chains: ['system'],
  summary: 'Stream the events of all workspaces',
  policy: { ...operator, channel: 'none', permission: 'event:read' },
})

export const listAllEvents = operation({
  ...feed,
  id: 'events.listAll',
  path: '/events',
  chains: ['system'],
  summary: 'List the events of all workspaces, oldest first',
  policy: { ...operator, permission: 'event:read' },
})
