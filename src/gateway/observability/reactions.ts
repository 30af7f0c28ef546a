import { type Clock, type Instant, messageOf, toIso } from '../../kernel/index.ts'
import { Recent } from './recent.ts'

/** One attempt of a domain's `on`. Contains no data of the event. */
export interface ReactionRun {
  /** The id of the event. */
  event: string
  type: string
  /** The id of the object. */
  subject: string
  domain: string
  attempt: number
  /** Null after a success. */
  error: unknown
  ms: number
}

interface Recorded extends Omit<ReactionRun, 'error'> {
  at: Instant
  verdict: 'passed' | 'failed'
  internal: string | null
}

interface ReactionExplanation extends Omit<Recorded, 'at'> {
  at: string
}

interface ReactionLog {
  record(run: ReactionRun): void
  /** By the id of the event or of its object, newest first. */
  explain(id: string): ReactionExplanation[]
  close(): void
}

/** The attempts at reactions in this process. */
export function createReactionLog(
  clock: Clock,
  limits: { entries: number; ttlMs: number },
  /** Shows messages of thrown errors, which can contain data. */
  includesErrors: boolean,
): ReactionLog {
  const recent = new Recent<Recorded>(clock, limits)
  return {
    record: ({ error, ms, ...run }) =>
      recent.add({
        ...run,
        at: clock.now(),
        verdict: error === null ? 'passed' : 'failed',
        internal: includesErrors && error !== null ? messageOf(error) : null,
        ms: Math.round(ms * 100) / 100,
      }),
    explain: (id) =>
      recent
        .find(({ event, subject }) => event === id || subject === id)
        .map(({ at, ...run }) => ({ ...run, at: toIso(at) })),
    close: () => recent.close(),
  }
}
