import type { Database } from '../../database/index.ts'
import type { Durations, Timer } from '../../kernel/index.ts'
import type { PubSub } from '../pubsub.ts'
import type { StoredEvent } from './event.ts'
import { type Feed, headPosition, readTail } from './store.ts'

/** Finds events whose message was lost. */
const pollMs = 1_000

const batchSize = 500

/** Gets the new events of its feed, in order. */
export type Follower = (events: readonly StoredEvent[]) => void

export interface EventTailPorts {
  database: Database
  pubsub: Pick<PubSub, 'subscribe'>
  durations: Pick<Durations, 'every'>
  /** Called if the store fails. The next poll tries again. */
  onFault(error: unknown): void
}

/** Reads new events for all open streams of this process, with one statement per poll. Without followers, it reads nothing. */
export class EventTail {
  readonly #ports: EventTailPorts
  readonly #followers = new Map<Feed, Set<Follower>>()
  #timer: Timer | undefined
  /** Followers have all events up to this position. */
  #last: number | undefined
  #reading: Promise<void> | undefined
  #isWoken = false

  constructor(ports: EventTailPorts) {
    this.#ports = ports
    ports.pubsub.subscribe('events-sequenced', () => this.#wake())
  }

  /**
   * Resolves once every event that becomes visible afterwards reaches the follower. Returns the function that ends this.
   * Rejects if the store fails.
   */
  async follow(feed: Feed, follower: Follower): Promise<() => void> {
    const ofFeed = this.#followers.get(feed) ?? new Set()
    this.#followers.set(feed, ofFeed.add(follower))
    this.#timer ??= this.#ports.durations.every(pollMs, () => this.#wake())
    try {
      // A statement in progress does not select this feed.
      await this.#reading
      if (this.#last === undefined) {
        const head = await headPosition(this.#ports.database)
        this.#last ??= head
      }
    } catch (error) {
      this.#unfollow(feed, follower)
      throw error
    }
    return () => this.#unfollow(feed, follower)
  }

  #unfollow(feed: Feed, follower: Follower): void {
    const ofFeed = this.#followers.get(feed)
    if (!ofFeed?.delete(follower) || ofFeed.size > 0) return
    this.#followers.delete(feed)
    if (this.#followers.size > 0) return
    this.#timer?.close()
    this.#timer = undefined
    this.#last = undefined
  }

  #wake(): void {
    if (this.#followers.size === 0) return
    this.#isWoken = true
    this.#reading ??= this.#readAll()
      .catch((error: unknown) => this.#ports.onFault(error))
      .finally(() => {
        this.#reading = undefined
      })
  }

  async #readAll(): Promise<void> {
    while (this.#isWoken && this.#last !== undefined) {
      this.#isWoken = false
      const feeds = [...this.#followers.keys()]
      const { events, position } = await readTail(this.#ports.database, feeds, this.#last, batchSize)
      // The last follower may have left meanwhile, and another one come.
      if (this.#last === undefined) return
      this.#last = Math.max(this.#last, position)
      this.#isWoken ||= events.length === batchSize
      this.#deliver(events)
    }
  }

  #deliver(events: readonly StoredEvent[]): void {
    const byWorkspace = Map.groupBy(events, ({ workspaceId }) => workspaceId)
    for (const [feed, followers] of this.#followers) {
      const own = feed === null ? events.filter(({ forOperators }) => forOperators) : (byWorkspace.get(feed) ?? [])
      if (own.length > 0) for (const follower of followers) follower(own)
    }
  }
}
