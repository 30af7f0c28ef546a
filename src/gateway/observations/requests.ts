import * as z from 'zod'
import { invalid, isRecord, type Page, startCursor, toCursorPage, toInstant, toIso } from '../../kernel/index.ts'
import type { Gathered } from '../../platform/replicas.ts'
import { type ExplainLog, isNamed } from '../observability/explain.ts'
import { type RequestOutcome, requestOutcomes, servedBy, shadowVerdicts } from './contract.ts'

/*
 * The lists of requests: each replica selects from those that it has recorded, and the replica that was asked merges the
 * lists.
 */

/** The year 9999 is the last one that ISO 8601 writes with four digits. */
const maxInstantMs = Date.UTC(9999, 0)

/** As replicas send it to each other. */
export const RequestFilter = z.object({
  /** The time and the number of the last request of the previous page. */
  before: z.object({ at: z.number(), sequence: z.number() }).nullable(),
  /** Inclusive. */
  from: z.number().optional(),
  to: z.number().optional(),
  outcome: z.enum(requestOutcomes).optional(),
  code: z.string().optional(),
  operation: z.string().optional(),
  account: z.string().optional(),
  workspace: z.string().optional(),
  /** A request id or an idempotency key. */
  id: z.string().optional(),
  limit: z.int(),
})
export type RequestFilter = z.output<typeof RequestFilter>

/** An instant that a date can have: one message must not spoil the reply for everybody. */
const at = z.number().min(0).max(maxInstantMs)

/** Other replicas may send other fields. */
const Recorded = z.object({
  sequence: z.number(),
  requestId: z.string(),
  at,
  operation: z.string().nullable(),
  chain: z.string().nullable(),
  account: z.string().nullable(),
  workspace: z.string().nullable(),
  status: z.int().nullable(),
  code: z.string().nullable(),
  ms: z.number(),
})
type Recorded = z.output<typeof Recorded>

/** `isCut`: the replica has older requests that match. */
const Selection = z.object({ requests: z.array(Recorded), isCut: z.boolean() })
export type Selection = z.output<typeof Selection>

/** Characters of the requests in a message between replicas, whose limit also covers the rest of the message. */
const maxSelectionLength = 200_000

/** The requests of this replica. */
export function selectRequests(log: Pick<ExplainLog, 'find'>, filter: RequestFilter): Selection {
  const { before, from, to, outcome, code, operation, account, workspace, id, limit } = filter
  const found = log.find(
    (each) =>
      (before === null || isBehind(each, before)) &&
      (from === undefined || each.at >= from) &&
      (to === undefined || each.at <= to) &&
      (outcome === undefined || outcomeOf(each.status) === outcome) &&
      (code === undefined || each.code === code) &&
      (operation === undefined || each.operation === operation) &&
      (account === undefined || each.account === account) &&
      (workspace === undefined || each.workspace === workspace) &&
      (id === undefined || isNamed(each, id)),
  )
  const requests: Recorded[] = []
  let length = 0
  for (const decision of found.slice(0, limit)) {
    const recorded = Recorded.parse(decision)
    length += JSON.stringify(recorded).length + 1
    if (length > maxSelectionLength) break
    requests.push(recorded)
  }
  return { requests, isCut: requests.length < found.length }
}

/** Throws VALIDATION.INVALID_PARAMETER for a cursor of another list. */
export function parseCursor(cursor: string): RequestFilter['before'] {
  if (cursor === startCursor) return null
  const [micros = '', sequence = ''] = cursor.split('_')
  if (sequence.includes('-')) throw invalid('before', 'the cursor of another list')
  return { at: Number(micros) / 1_000, sequence: Number(sequence) }
}

export type ListedRequest = Recorded & { replica: string }

/** Newest first. */
export function mergeSelections(answers: Gathered['answers'], pageSize: number): Page<ListedRequest> {
  const selections = answers.flatMap(({ replica, result }) => {
    const selection = Selection.safeParse(result).data
    return selection ? [{ replica, ...selection }] : []
  })
  // Older requests of a replica with more of them are unknown, so the page ends with its last one.
  const ends = selections.flatMap(({ requests, isCut }) => (isCut ? (requests.at(-1) ?? []) : []))
  const known = selections
    .flatMap(({ replica, requests }) => requests.map((request) => ({ ...request, replica })))
    .filter((request) => !ends.some((end) => isBehind(request, end)))
    .toSorted(byAge)
  const items = known.slice(0, pageSize)
  const last = items.at(-1)
  const hasMore = ends.length > 0 || known.length > items.length
  const next = last && hasMore ? `${last.at * 1_000}_${last.sequence}` : null
  return toCursorPage(items, next, { currentPage: 1, pageSize })
}

export function toRequestView({ replica, sequence: _, at, account, workspace, ...request }: ListedRequest) {
  return {
    replica,
    ...request,
    at: toIso(toInstant(at)),
    accountBizId: account,
    workspaceBizId: workspace,
    outcome: outcomeOf(request.status),
  }
}

/** An entry of `/explain`, without its internal reason. */
const Explained = z.object({
  requestId: z.string(),
  idempotencyKey: z.string().nullable(),
  at: z.iso.datetime(),
  operation: z.string().nullable(),
  chain: z.string().nullable(),
  account: z.string().nullable(),
  workspace: z.string().nullable(),
  status: z.int().nullable(),
  code: z.string().nullable(),
  ms: z.number(),
  hooks: z
    .array(z.object({ domain: z.string(), verdict: z.enum(['running', 'passed', 'refused', 'failed']) }))
    .default([]),
  trial: z
    .object({
      servedBy: z.enum(servedBy),
      rule: z.string(),
      shadow: z.enum(shadowVerdicts).nullable(),
    })
    .nullable()
    .default(null),
  stages: z.array(
    z.object({
      stage: z.string(),
      verdict: z.enum(['passed', 'refused', 'abandoned', 'not reached']),
      ms: z.number().nullable().default(null),
    }),
  ),
  traceId: z.string().nullable(),
})

/** Newest first. Omits the reactions of domains to events, which `/explain` also shows. */
export function toExplanationViews(answers: Gathered['answers']) {
  return answers
    .flatMap(({ replica, result }) =>
      (Array.isArray(result) ? result : []).filter(isRecord).flatMap((entry) => {
        const explained = Explained.safeParse(entry).data
        if (!explained) return []
        const { account, workspace, ...decision } = explained
        return [
          {
            replica,
            ...decision,
            accountBizId: account,
            workspaceBizId: workspace,
            outcome: outcomeOf(decision.status),
          },
        ]
      }),
    )
    .toSorted((one, other) => other.at.localeCompare(one.at))
}

function outcomeOf(status: number | null): RequestOutcome {
  if (status === null) return 'abandoned'
  if (status >= 500) return 'failed'
  return status >= 400 ? 'refused' : 'passed'
}

interface Position {
  at: number
  sequence: number
}

function byAge(one: Position, other: Position): number {
  return other.at - one.at || other.sequence - one.sequence
}

function isBehind(request: Position, end: Position): boolean {
  return byAge(end, request) < 0
}
