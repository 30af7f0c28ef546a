import { type Clock, type Code, type Instant, toIso } from '../kernel/index.ts'
import type { Finished } from './request-log.ts'

/** What is kept of one decided request: numbers and ids, no part of what was sent. */
interface Decision {
  requestId: string
  at: Instant
  operation: string | null
  chain: string | null
  account: string | null
  workspace: string | null
  status: number
  code: Code | null
  internal: string | null
  ms: number
  /** The stage that it ended in; as many as there are when it passed them all; -1 when no operation was found. */
  reached: number
  /** When the request began and ended, and each stage that was waited for, by performance.now(). */
  began: number
  ended: number
  ends: readonly number[]
  traceId: string | null
}

interface StageVerdict {
  stage: string
  verdict: 'passed' | 'refused' | 'not reached'
  /** Milliseconds, where the stage had to be waited for. */
  ms?: number
}

interface Explanation extends Omit<Decision, 'at' | 'reached' | 'began' | 'ended' | 'ends'> {
  at: string
  stages: StageVerdict[]
}

export interface Explain {
  record(finished: Finished): void
  /** Every request with this id that is remembered, the newest first: a client may send one more than once. */
  explain(requestId: string): Explanation[]
  close(): void
}

const rounded = (ms: number): number => Math.round(ms * 100) / 100

/** What each stage took from the end of the one before it that was waited for; the one that refused, to the request's end. */
const timesOf = ({ began, ended, ends, reached, code }: Decision): Map<number, number> => {
  const times = new Map<number, number>()
  let start = began
  if (reached < 0) return times
  for (const [place, end] of [...ends.slice(0, reached), code === null ? Number.NEGATIVE_INFINITY : ended].entries()) {
    if (end < 0) continue
    times.set(place, end - start)
    start = end
  }
  return times
}

const verdicts = (decision: Decision, names: readonly string[]): StageVerdict[] => {
  const { reached, code } = decision
  const times = timesOf(decision)
  const list = ['route', ...names, 'answer']
  return list.map((stage, index) => {
    const place = index - 1
    const ms = times.get(place)
    const verdict = place < reached ? 'passed' : place > reached ? 'not reached' : code === null ? 'passed' : 'refused'
    return { stage, verdict, ...(ms === undefined ? {} : { ms: rounded(ms) }) }
  })
}

/**
 * The newest decisions in a ring, so that remembering one costs a small object, and looking for one a walk over all of
 * them, which only an operator ever asks for. What is older than `ttlMs` is let go.
 */
export const createExplain = (
  clock: Clock,
  names: readonly string[],
  { entries, ttlMs }: { entries: number; ttlMs: number },
): Explain => {
  const ring: (Decision | undefined)[] = []
  let next = 0
  const isOver = ({ at }: Decision): boolean => at + ttlMs <= clock.now()
  const forget = (): void => {
    for (const [index, decision] of ring.entries()) if (decision && isOver(decision)) ring[index] = undefined
  }
  const timer = setInterval(forget, ttlMs).unref()
  return {
    record: ({ requestId, call, refusal, status, ms }) => {
      if (entries === 0) return
      const ended = performance.now()
      ring[next] = {
        requestId,
        at: call?.receivedAt ?? clock.now(),
        operation: call?.operation.id ?? null,
        chain: call?.chainId ?? null,
        account: call?.caller?.accountId ?? null,
        workspace: call?.workspace?.id ?? null,
        status,
        code: refusal?.code ?? null,
        internal: refusal?.detail.internal ?? null,
        ms: rounded(ms),
        reached: call?.reached ?? -1,
        began: ended - ms,
        ended,
        ends: call?.ends ?? [],
        traceId: call?.trace?.traceId ?? null,
      }
      next = (next + 1) % entries
    },
    explain: (requestId) =>
      ring
        .filter((each): each is Decision => each?.requestId === requestId && !isOver(each))
        .sort((a, b) => b.at - a.at)
        .map((decision) => {
          const { reached: _reached, began: _began, ended: _ended, ends: _ends, ...told } = decision
          return { ...told, at: toIso(decision.at), stages: verdicts(decision, names) }
        }),
    close: () => clearInterval(timer),
  }
}
