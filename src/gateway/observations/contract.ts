import * as z from 'zod'
import { bizId, id, text, timestamp } from '../../contract/fields.ts'
import { interval, isForward, page } from '../../contract/lists.ts'
import type { Permissions } from '../../contract/permissions.ts'
import { operator } from '../../contract/policies.ts'
import { cursorPattern, operation } from '../../kernel/index.ts'

export const summary = 'The gateway’s decisions about requests, and the state of the deployment, for operators.'

export const permissions = {
  operator: { gateway: { sortOrder: 2000, actions: ['observe'] } },
} as const satisfies Permissions

/** `failed` is a status of 5xx, `refused` one of 4xx. A client that disconnects abandons its request. */
export const requestOutcomes = ['passed', 'refused', 'failed', 'abandoned'] as const
export type RequestOutcome = (typeof requestOutcomes)[number]

export const servedBy = ['backend', 'canary'] as const
export const shadowVerdicts = ['pending', 'equal', 'different', 'failed', 'skipped'] as const

/** The kinds of work that wait for operators. */
export type OperatorQueue =
  | 'TRANSFER_APPROVAL'
  | 'RECHARGE_CONFIRMATION'
  | 'WITHDRAWAL_APPROVAL'
  | 'WITHDRAWAL_SETTLEMENT'
  | 'PAYOUT_ACCOUNT_VERIFICATION'
  | 'ACCOUNT_APPROVAL'
  | 'PROPOSAL_CONFIRMATION'

const maxPageSize = 200
/** A request id, or an idempotency key: visible characters of ASCII, and spaces. */
const requestId = z.string().regex(/^[ -~]{1,255}$/)

const request = {
  replica: z.string().meta({ description: 'The gateway that decided.' }),
  requestId: z.string(),
  at: timestamp.meta({ description: 'When the request arrived.' }),
  operation: z.string().nullable().meta({ description: 'Null if the request matched no operation.' }),
  chain: z.string().nullable(),
  accountBizId: bizId.nullable(),
  workspaceBizId: bizId.nullable(),
  outcome: z.enum(requestOutcomes).meta({ description: '`failed`: a status of 5xx. `refused`: a status of 4xx.' }),
  status: z.int().nullable().meta({ description: 'Null if the client disconnected before the response.' }),
  code: z.string().nullable().meta({ description: 'The refusal code.' }),
  ms: z.number().meta({ description: 'Milliseconds until the response. Of a stream, until its end.' }),
}

/** Replicas that did not answer in time, although they answered lately. */
const missing = z
  .array(z.object({ replica: z.string(), lastSeenAt: timestamp }))
  .meta({ description: 'Replicas that did not answer. The reply lacks their part.' })

const observing = {
  method: 'GET',
  chains: ['system'],
  policy: { ...operator, permission: 'gateway:observe' },
  body: 'none',
} as const

export const listRequests = operation({
  ...observing,
  isPassive: true,
  id: 'observations.listRequests',
  path: '/requests',
  summary: 'List the latest requests of all gateways',
  description:
    'Newest first. Each gateway remembers requests in memory only, as `explain` in its configuration permits, and forgets ' +
    'them when it restarts. A request does not prolong the session.',
  query: z
    .strictObject({
      pageSize: z
        .string()
        .regex(/^\d{1,3}$/)
        .transform(Number)
        .pipe(z.int().min(1).max(maxPageSize))
        .default(50)
        .meta({ description: 'Maximum number of requests on a page.' }),
      before: z.string().regex(cursorPattern).default('start').meta({
        description: '`start`, then `nextCursor` of each reply.',
      }),
      ...interval,
      outcome: z.enum(requestOutcomes).optional(),
      code: text(128).optional().meta({ description: 'A refusal code.' }),
      operation: text(128).optional().meta({ description: 'The id of an operation.' }),
      accountId: id.optional(),
      workspaceId: id.optional(),
      requestId: requestId.optional().meta({ description: 'The id of a request, or its idempotency key.' }),
    })
    .refine(isForward, { path: ['endTime'], message: 'endTime is before startTime' }),
  reply: page(z.object(request)).extend({ missing }),
  refuses: [],
})

const Stage = z.object({
  stage: z.string(),
  verdict: z.enum(['passed', 'refused', 'abandoned', 'not reached']),
  ms: z.number().nullable().meta({ description: 'Null for stages that do not wait.' }),
})

const TrialUse = z.object({
  servedBy: z.enum(servedBy),
  rule: z.string().meta({
    description: 'Why: `named`, `share`, `no key`, `returned` or `same key`, or `none` if the domain has no canary.',
  }),
  shadow: z.enum(shadowVerdicts).nullable().meta({
    description: 'The comparison with the shadow, which follows the response. Null if no copy was sent.',
  }),
})

const Explanation = z.object({
  ...request,
  idempotencyKey: z.string().nullable(),
  traceId: z.string().nullable(),
  hooks: z
    .array(z.object({ domain: z.string(), verdict: z.enum(['running', 'passed', 'refused', 'failed']) }))
    .meta({ description: 'The hooks of other domains, in order.' }),
  trial: TrialUse.nullable().meta({ description: 'Null if the backend has neither a shadow nor a canary.' }),
  stages: z.array(Stage).meta({ description: 'In order. The stage that refused the request is the last one reached.' }),
})

export const readRequest = operation({
  ...observing,
  id: 'observations.readRequest',
  path: '/requests/decisions',
  summary: 'Explain the decisions about a request',
  description:
    'A client may use an id more than once, and a service that received the request has a decision, too. Internal reasons ' +
    'are only in the log and on the operations listener, because they can contain data of requests. If no replica knows ' +
    'the request and some did not answer, `decisions` is empty.',
  // Not a parameter of the path: a client can choose an id that no path can contain, such as `..`.
  query: z.strictObject({ requestId: requestId.meta({ description: 'The id of a request, or its idempotency key.' }) }),
  reply: z.object({ decisions: z.array(Explanation).meta({ description: 'Newest first.' }), missing }),
  refuses: ['RESOURCE.NOT_FOUND'],
})

const Minute = z.object({
  at: timestamp.meta({ description: 'The start of the minute.' }),
  requests: z.int(),
  failed: z.int().meta({ description: 'Responses with a status of 5xx.' }),
  refused: z.int().meta({ description: 'Responses with a status of 4xx.' }),
  abandoned: z.int(),
  p99Ms: z
    .number()
    .nullable()
    .meta({ description: '99th percentile of the durations, without streams, up to 10% above the true one.' }),
})

const Replica = z.object({
  replica: z.string(),
  version: z.string(),
  role: z.enum(['gateway', 'domains']),
  startedAt: timestamp,
  uptimeSeconds: z.int(),
  readiness: z.enum(['ready', 'unready', 'draining']),
  checks: z
    .array(z.object({ name: z.string(), result: z.string() }))
    .meta({ description: 'The result for each dependency: `ok`, `read-only`, `degraded` or `failed`.' }),
})

const Circuit = z.object({
  replica: z.string(),
  backend: z.string(),
  circuit: z.string().meta({ description: '`closed`, `half open` or `open`.' }),
})

const Trial = z.object({
  replica: z.string(),
  domains: z.array(z.string()).meta({ description: 'The domains that share the settings.' }),
  backend: z.string().meta({ description: '`in-process`, or the URL of the service.' }),
  canary: z
    .object({
      url: z.string(),
      isReturned: z
        .boolean()
        .meta({ description: 'Whether the backend serves all requests again, because too many failed.' }),
      share: z.number().meta({ description: 'From 0 to 1.' }),
      named: z.int().meta({ description: 'Number of accounts and workspaces that the settings name.' }),
      requests: z.int().meta({ description: 'At this replica within the window of `maxErrorShare`.' }),
      failures: z.int(),
    })
    .nullable(),
  shadow: z
    .object({
      url: z.string(),
      share: z.number().meta({ description: 'From 0 to 1.' }),
      differences: z
        .array(
          z.object({
            operation: z.string(),
            kind: z.string().meta({
              description: '`refusal`, `invalid`, `schema`, `missing`, `added`, `type`, `value` or `length`.',
            }),
            path: z
              .string()
              .meta({ description: 'The field of the reply, without indexes of lists. `$` is the reply.' }),
            count: z.int(),
            firstAt: timestamp,
            lastAt: timestamp,
          }),
        )
        .meta({ description: 'The latest first, up to 100. Contains no values.' }),
    })
    .nullable(),
})

const LedgerState = z.object({
  checkedAt: timestamp,
  wholeCheckedAt: timestamp.nullable().meta({ description: 'The last check of all entries.' }),
  discrepancies: z.int(),
  brokenRule: z.string().nullable(),
})

const AuditState = z.object({
  verifiedAt: timestamp.nullable().meta({ description: 'The last verification since the start of the replicas.' }),
  intact: z.boolean().nullable(),
  head: z.string().nullable().meta({ description: 'The newest sealed entry, as `sequence:hash`.' }),
})

const Queue = z.object({
  // Not an enum: a gateway whose domain is off must not name its queue.
  queue: z.string(),
  waiting: z.int(),
  oldestAt: timestamp.nullable().meta({ description: 'Creation of the oldest one.' }),
  canDecide: z.boolean().meta({ description: 'Whether the caller holds the permission to decide.' }),
})

export const readOverview = operation({
  ...observing,
  isPassive: true,
  id: 'observations.readOverview',
  path: '/overview',
  summary: 'Read the state of the deployment',
  description: 'A request does not prolong the session.',
  reply: z.object({
    at: timestamp,
    minutes: z.array(Minute).meta({ description: 'The last 60 minutes, oldest first. The last one is not complete.' }),
    replicas: z.array(Replica),
    missing,
    circuits: z.array(Circuit).meta({ description: 'Of each backend, as each replica sees it.' }),
    trials: z.array(Trial).meta({ description: 'The shadows and canaries of backends, as each replica sees them.' }),
    ledger: LedgerState.nullable().meta({ description: 'Null without a check, and if the store did not answer.' }),
    audit: AuditState,
    sessions: z
      .array(z.object({ portal: z.string(), open: z.int() }))
      .meta({ description: 'Open sessions by portal.' }),
    queues: z.array(Queue).meta({ description: 'Only those that the caller can list.' }),
  }),
  refuses: [],
})
