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
  /** Pairs: a stage that had to be waited for, and the milliseconds from its start to its end. */
  waits: readonly number[]
  traceId: string | null
}

export interface StageVerdict {
  stage: string
  verdict: 'passed' | 'refused' | 'not reached'
  /** Milliseconds, where the stage had to be waited for. */
  ms?: number
}

export interface Explanation extends Omit<Decision, 'at' | 'reached' | 'waits'> {
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

const verdicts = ({ reached, waits, code }: Decision, names: readonly string[]): StageVerdict[] => {
  const times = new Map<number, number>()
  for (let index = 0; index + 1 < waits.length; index += 2) times.set(waits[index] ?? 0, waits[index + 1] ?? 0)
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
        waits: call?.waits ?? [],
        traceId: call?.trace?.traceId ?? null,
      }
      next = (next + 1) % entries
    },
    explain: (requestId) =>
      ring
        .filter((each): each is Decision => each?.requestId === requestId && !isOver(each))
        .sort((a, b) => b.at - a.at)
        .map((decision) => {
          const { at, reached: _reached, waits: _waits, ...told } = decision
          return { ...told, at: toIso(at), stages: verdicts(decision, names) }
        }),
    close: () => clearInterval(timer),
  }
}
