import { z } from 'zod'
import type { DomainPorts, LoadedDomain } from '../../api/domain.ts'
import { type Database, inTransaction } from '../../database/index.ts'
import type { Clock, Ids } from '../../kernel/index.ts'
import { claimReaction, type EventConsumer, eventAt, toCloudEvent } from '../../platform/events/index.ts'
import { enqueueJobs, type JobKind } from '../../platform/jobs/index.ts'

/** With growing pauses of up to five minutes, about eight hours. */
const attempts = 100

interface Ports {
  database: Database
  clock: Clock
  ids: Ids
  source: string
}

/** The jobs of a domain's `on`, one kind per type of events. `ports` are those of the domain. */
export function reactionJobs(
  { name, on = {} }: Pick<LoadedDomain, 'name' | 'on'>,
  ports: Partial<DomainPorts>,
  { database, clock, source }: Ports,
): JobKind[] {
  return Object.entries(on).map(([type, react]) => ({
    name: kindOf(name, type),
    attempts,
    work: async (payload) => {
      const event = await eventAt(database, positionIn(payload))
      // The retention has ended.
      if (!event) return
      await inTransaction(
        database,
        async (tx) => {
          if (await claimReaction(tx, event.id, name, clock.now()))
            await react(toCloudEvent(event, source), { ...ports, tx })
        },
        { owner: name, port: 'transaction' },
      )
    },
  }))
}

/** Adds a job for each event that a domain reacts to. */
export function reactionConsumer(
  domains: readonly Pick<LoadedDomain, 'name' | 'on'>[],
  { clock, ids }: Pick<Ports, 'clock' | 'ids'>,
): EventConsumer {
  return async (tx, events) => {
    const at = clock.now()
    const jobs = events
      // A fact that two workspaces read is one fact.
      .filter(({ forOperators }) => forOperators)
      .flatMap(({ type, position }) =>
        domains
          .filter(({ on = {} }) => Object.hasOwn(on, type))
          .map(({ name }) => ({ kind: kindOf(name, type), payload: { position }, at })),
      )
    await enqueueJobs(tx, ids, jobs)
  }
}

function kindOf(domain: string, type: string): string {
  return `${domain}.on.${type}`
}

function positionIn(payload: unknown): number {
  return z.object({ position: z.int() }).parse(payload).position
}
