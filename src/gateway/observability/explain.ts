import { type Clock, type Code, type HookRun, type Instant, thrownMessage, toIso } from '../../kernel/index.ts'
import type { TrialUse } from '../pipeline/call.ts'
import { Recent } from './recent.ts'
import type { FinishedRequest } from './request-log.ts'

/** Contains nothing that the client sent except its ids, unless the message of a thrown error does. */
export interface Decision {
  /** Orders requests that arrived in the same millisecond. */
  sequence: number
  requestId: string
  idempotencyKey: string | null
  at: Instant
  operation: string | null
  chain: string | null
  account: string | null
  workspace: string | null
  /** Null if the request was abandoned. */
  status: number | null
  code: Code | null
  internal: string | null
  ms: number
  /** The hooks of other domains, in order. Absent if the operation has none, or a service runs them. */
  hooks?: readonly HookRun[]
  /** Whether a canary served the request, and the verdict of the shadow, which follows the response. Absent without them. */
  trial?: TrialUse
  /** The last stage that started; -1 if no operation was matched. */
  stageIndex: number
  /** Times from performance.now(). */
  startedAt: number
  endedAt: number
  stageEnds: readonly number[]
  traceId: string | null
}

interface StageVerdict {
  stage: string
  /** `abandoned`: the client disconnected before the response. */
  verdict: 'passed' | 'refused' | 'abandoned' | 'not reached'
  /** Milliseconds. Absent for synchronous stages. */
  ms?: number
}

interface Explanation extends Omit<Decision, 'sequence' | 'at' | 'stageIndex' | 'startedAt' | 'endedAt' | 'stageEnds'> {
  at: string
  stages: StageVerdict[]
}

export interface ExplainLog {
  record(finished: FinishedRequest): void
  /** By request id or idempotency key, newest first. A client may use an id more than once. */
  explain(id: string): Explanation[]
  /** Newest first. */
  find(matches: (decision: Decision) => boolean): Decision[]
  close(): void
}

export function createExplainLog(
  clock: Clock,
  stageNames: readonly string[],
  limits: { entries: number; ttlMs: number },
  /** Shows messages of thrown errors, which can contain data of requests. */
  includesErrors: boolean,
): ExplainLog {
  const recent = new Recent<Decision>(clock, limits)
  // Replicas start at different times, so the numbers of their requests differ. A cursor has up to 15 digits.
  let sequence = (clock.now() % 1e8) * 1e7
  return {
    record: (finished) => {
      sequence += 1
      recent.add(toDecision(finished, sequence, clock, includesErrors))
    },
    explain: (id) => recent.find((each) => isNamed(each, id)).map((decision) => toExplanation(decision, stageNames)),
    find: (matches) => recent.find(matches).sort((a, b) => b.at - a.at || b.sequence - a.sequence),
    close: () => recent.close(),
  }
}

export function isNamed({ requestId, idempotencyKey }: Decision, id: string): boolean {
  return requestId === id || idempotencyKey === id
}

function toDecision(
  { requestId, call, refusal, status, ms }: FinishedRequest,
  sequence: number,
  clock: Clock,
  includesErrors: boolean,
): Decision {
  const endedAt = performance.now()
  return {
    sequence,
    requestId,
    idempotencyKey: call?.idempotencyKey ?? null,
    at: call?.receivedAt ?? clock.now(),
    operation: call?.operation.id ?? null,
    chain: call?.chainId ?? null,
    account: call?.caller?.accountId ?? null,
    workspace: call?.workspace?.id ?? null,
    status,
    code: refusal?.code ?? null,
    internal: (includesErrors && refusal && thrownMessage(refusal)) || (refusal?.detail.internal ?? null),
    ms: roundMs(ms),
    ...(call?.hookRuns && call.hookRuns.length > 0 && { hooks: call.hookRuns }),
    ...(call?.trial && { trial: call.trial }),
    stageIndex: call?.stageIndex ?? -1,
    startedAt: endedAt - ms,
    endedAt,
    stageEnds: call?.stageEnds ?? [],
    traceId: call?.trace?.traceId ?? null,
  }
}

function roundMs(ms: number): number {
  return Math.round(ms * 100) / 100
}

function toExplanation(decision: Decision, names: readonly string[]): Explanation {
  const {
    sequence: _sequence,
    stageIndex: _index,
    startedAt: _start,
    endedAt: _end,
    stageEnds: _ends,
    ...facts
  } = decision
  return { ...facts, at: toIso(decision.at), stages: toVerdicts(decision, names) }
}

function toVerdicts(decision: Decision, names: readonly string[]): StageVerdict[] {
  const { stageIndex, code, status } = decision
  const durations = stageDurations(decision)
  return ['route', ...names, 'answer'].map((stage, at) => {
    const index = at - 1
    const ms = durations.get(index)
    const atEnd = status === null ? 'abandoned' : code === null ? 'passed' : 'refused'
    const verdict = index < stageIndex ? 'passed' : index > stageIndex ? 'not reached' : atEnd
    return { stage, verdict, ...(ms === undefined ? {} : { ms: roundMs(ms) }) }
  })
}

/** The rejecting stage lasts until the end of the request. */
function stageDurations({ startedAt, endedAt, stageEnds, stageIndex, code }: Decision): Map<number, number> {
  const durations = new Map<number, number>()
  let start = startedAt
  if (stageIndex < 0) return durations
  const lastEnd = code === null ? Number.NEGATIVE_INFINITY : endedAt
  for (const [index, end] of [...stageEnds.slice(0, stageIndex), lastEnd].entries()) {
    if (end < 0) continue
    durations.set(index, end - start)
    start = end
  }
  return durations
}
