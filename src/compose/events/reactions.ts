import type { DomainPorts, LoadedDomain } from '../../api/domain.ts'
import { CloudEventSchema } from '../../contract/events/event.ts'
import { type Database, inTransaction } from '../../database/index.ts'
import type { ReactionRun } from '../../gateway/index.ts'
import type { Clock, Ids } from '../../kernel/index.ts'
import { type EventConsumer, toCloudEvent } from '../../platform/events/index.ts'
import { completeJob, enqueueJobs, type JobKind } from '../../platform/jobs/index.ts'

/** With growing pauses of up to five minutes, about eight hours. */
const attempts = 100

interface Ports {
  database: Database
  clock: Clock
  ids: Ids
  source: string
}

/**
 * The jobs of a domain's `on`, one kind per type of events. `ports` are those of the domain. The event is in the job, so
 * that no retention takes it away. A job ends in the transaction of its effects: they commit once.
 */
export function reactionJobs(
  { name, on = {} }: Pick<LoadedDomain, 'name' | 'on'>,
  ports: Partial<DomainPorts>,
  { database }: Pick<Ports, 'database'>,
): JobKind[] {
  return Object.entries(on).map(([type, react]) => ({
    name: kindOf(name, type),
    attempts,
    work: async (payload, { jobId }) => {
      const event = CloudEventSchema.parse(payload)
      await inTransaction(
        database,
        async (tx) => {
          await react(event, { ...ports, tx })
          await completeJob(tx, jobId)
        },
        { owner: name, port: 'transaction' },
      )
    },
  }))
}

/** Reports each attempt, for `/explain`. */
export function explained(kind: JobKind, domain: string, report: (run: ReactionRun) => void): JobKind {
  return {
    ...kind,
    work: async (payload, facts) => {
      const { id: event, type, subject } = CloudEventSchema.parse(payload)
      const startedAt = performance.now()
      const reportEnd = (error: unknown): void =>
        report({ event, type, subject, domain, attempt: facts.attempt, error, ms: performance.now() - startedAt })
      try {
        await kind.work(payload, facts)
      } catch (error) {
        reportEnd(error)
        throw error
      }
      reportEnd(null)
    },
  }
}

/** Adds a job for each event that a domain reacts to. */
export function reactionConsumer(
  domains: readonly Pick<LoadedDomain, 'name' | 'on'>[],
  { clock, ids, source }: Pick<Ports, 'clock' | 'ids' | 'source'>,
): EventConsumer {
  return async (tx, events) => {
    const at = clock.now()
    const jobs = events
      // A fact that two workspaces read is one fact.
      .filter(({ forOperators }) => forOperators)
      .flatMap((event) =>
        domains
          .filter(({ on = {} }) => Object.hasOwn(on, event.type))
          .map(({ name }) => ({ kind: kindOf(name, event.type), payload: toCloudEvent(event, source), at })),
      )
    await enqueueJobs(tx, ids, jobs)
  }
}

function kindOf(domain: string, type: string): string {
  return `${domain}.on.${type}`
}
