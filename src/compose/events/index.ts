import type { Registry } from 'prom-client'
import type { Catalogue } from '../../contract/index.ts'
import type { Identity } from '../../identity/index.ts'
import { faultReport } from '../../platform/dependency-log.ts'
import { type EventMapper, EventSequencer, outboxState } from '../../platform/events/index.ts'
import { createEventMetrics } from '../../platform/telemetry/index.ts'
import type { Domains } from '../domains.ts'
import type { Infrastructure } from '../infrastructure.ts'

interface Parts {
  catalogue: Pick<Catalogue, 'events'>
  infrastructure: Infrastructure
  identity: Pick<Identity, 'events'>
  domains: Pick<Domains, 'events'>
  logger: { warn(fields: object, message: string): void; error(fields: object, message: string): void }
  registry: Registry
}

/** Runs in every process that serves domains. `stack` stops it. */
export async function startSequencer(
  { catalogue, infrastructure, identity, domains, logger, registry }: Parts,
  stack: AsyncDisposableStack,
): Promise<EventSequencer> {
  const { database, ids, pubsub, clock } = infrastructure
  const { consumers } = domains.events
  const mappers = [...domains.events.mappers, ...identity.events.map((each) => onlyDeclared(each, catalogue))]
  const sequencer = new EventSequencer({
    database,
    ids,
    mappers,
    consumers,
    schemas: new Map([...catalogue.events].map(([type, { data }]) => [type, data])),
    onSequenced: () => pubsub.publish('events-sequenced', ''),
    onSetAside: ({ source, error }) => logger.error({ source, err: error }, 'a change could not become events'),
    onFault: faultReport(infrastructure, logger, 'events could not be sequenced'),
  })
  createEventMetrics(registry, {
    read: () => outboxState(database, sequencer.sources),
    clock,
    onFault: faultReport(infrastructure, logger, 'the outbox of events could not be read for metrics'),
  })
  stack.defer(() => sequencer.stop())
  await sequencer.start()
  return sequencer
}

/** Nobody can read the events of identity whose domain is off. */
function onlyDeclared({ source, toEvents }: EventMapper, { events }: Pick<Catalogue, 'events'>): EventMapper {
  return { source, toEvents: async (change, tx) => (await toEvents(change, tx)).filter(({ type }) => events.has(type)) }
}
