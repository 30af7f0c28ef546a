import type { EventsPort } from '../../api/ports.ts'
import type { EventTable } from '../../contract/events/event.ts'
import { assertNoTransaction } from '../../database/index.ts'
import type { Clock } from '../../kernel/index.ts'
import { type DependencyLog, faultReport } from '../../platform/dependency-log.ts'
import { EventTail, type EventTailPorts, endsOfFeed, eventsAfter, insertRecorded } from '../../platform/events/index.ts'

interface Parts extends Omit<EventTailPorts, 'onFault'> {
  types: EventTable
  /** The URL of this deployment. */
  source: string
  clock: Clock
  dependencies: DependencyLog
  logger: { warn(fields: object, message: string): void }
}

/** Returns the port of each domain that records events. All ports share a tail. */
export function createEventPorts({ types, source, database, clock, dependencies, logger, ...parts }: Parts) {
  const onFault = faultReport({ dependencies, durations: clock }, logger, 'events could not be read for streams')
  const tail = new EventTail({ ...parts, database, onFault })
  return (owner: string): EventsPort => ({
    types,
    source,
    record: async (tx, { type, data, ...event }) => {
      const declared = types.get(type)
      if (declared?.owner !== owner) throw new TypeError(`the domain ${owner} does not declare the event ${type}`)
      if (declared.audience === 'workspace' && event.workspaceId === null)
        throw new TypeError(`the event ${type} needs a workspace, because its audience is one`)
      const checked = declared.data.safeParse(data)
      if (!checked.success) throw new TypeError(`the data of the event ${type} is invalid`, { cause: checked.error })
      await insertRecorded(tx, clock.now(), { ...event, type, data: checked.data, forOperators: true })
    },
    readAfter: async (feed, query) => {
      assertNoTransaction('events')
      return eventsAfter(database, feed, query)
    },
    follow: (feed, follower) => tail.follow(feed, follower),
    endsOf: async (feed) => {
      assertNoTransaction('events')
      return endsOfFeed(database, feed)
    },
  })
}
