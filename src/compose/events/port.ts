import type { EventsPort } from '../../api/ports.ts'
import type { EventTable } from '../../contract/events/event.ts'
import { assertNoTransaction, type Database } from '../../database/index.ts'
import type { Clock } from '../../kernel/index.ts'
import { type EventTail, endsOfFeed, eventsAfter, insertRecorded } from '../../platform/events/index.ts'

interface Parts {
  /** The domain that records events. */
  owner: string
  types: EventTable
  /** The URL of this deployment. */
  source: string
  database: Database
  clock: Clock
  tail: EventTail
}

export function createEventsPort({ owner, types, source, database, clock, tail }: Parts): EventsPort {
  return {
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
  }
}
