import { z } from 'zod'
import { type Database, inTransaction, isDatabaseUnavailable, sqlState, type Tx } from '../../database/index.ts'
import { bizId, type Ids, messageOf, type WorkspaceId } from '../../kernel/index.ts'
import type { EventConsumer, EventMapper, NewEvent, StoredEvent } from './event.ts'
import {
  advanceWorkspaces,
  type FailedChange,
  hasChanges,
  insertEvents,
  lockChanges,
  type OutboxChange,
  recordedSourceOf,
  retryFailed,
  setAside,
} from './store.ts'

/** Bounds the memory and the duration of one transaction. */
const batchSize = 500

/** Finds the changes of jobs and of other processes. Each poll is one indexed read. */
const pollMs = 500

/** Groups the changes of concurrent commands. */
const pauseMs = 10

/** Under load. A run takes as many statements for one change as for 500. */
const betweenRunsMs = 100

/** A change that alone fails so often, while the store answers, is set aside. Other changes do not wait longer. */
const maxFailures = 10

/** At a start. `expiredEventCleanup` tries the others. */
const maxRetried = 1_000

/** In characters. */
const maxFailureLength = 500

export interface SequencerPorts {
  database: Database
  ids: Ids
  mappers: readonly EventMapper[]
  /** The schema of the data of each type. */
  schemas: ReadonlyMap<string, z.ZodType>
  consumers: readonly EventConsumer[]
  /** Called after events became visible. */
  onSequenced(): void
  /** Called for a change that was set aside, because it could not become events. */
  onSetAside(failure: { source: string; error: unknown }): void
  /** Called if the store fails. The next poll tries again. */
  onFault(error: unknown): void
}

/**
 * Gives committed changes their positions, in every process that serves domains, one at a time. Positions are assigned
 * after the commit of a change, so that a reader who has seen one never misses an earlier one.
 */
export class EventSequencer {
  readonly #ports: SequencerPorts
  readonly #mappers: ReadonlyMap<string, EventMapper>
  /** The sources of changes that this process can sequence. A newer release may know others. */
  readonly sources: readonly string[]
  /** How many changes to take one by one. */
  #single = 0
  /** How often the first change has failed alone. */
  #failures = 0
  #timer: NodeJS.Timeout | undefined
  #soon: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  /** In milliseconds of `performance.now`. */
  #lastRunAt = 0
  #isStopped = false

  constructor(ports: SequencerPorts) {
    this.#ports = ports
    const recorded = [...ports.schemas.keys()].map((type) => recordedAs(recordedSourceOf(type)))
    this.#mappers = new Map([...recorded, ...ports.mappers].map((mapper) => [mapper.source, mapper]))
    this.sources = [...this.#mappers.keys()]
  }

  /** Tries the changes again that an earlier release has set aside. */
  async start(): Promise<void> {
    const { database, onFault } = this.#ports
    await retryFailed(database, this.sources, maxRetried).catch(onFault)
    this.#timer = setInterval(() => this.#run(), pollMs)
  }

  /** Call this after a command. */
  wake(): void {
    if (this.#isStopped || this.#soon) return
    this.#soon = setTimeout(
      () => {
        this.#soon = undefined
        // Changes that commit now could miss the run in progress.
        if (this.#running) void this.#running.finally(() => this.#run())
        else this.#run()
      },
      Math.max(pauseMs, this.#lastRunAt + betweenRunsMs - performance.now()),
    )
  }

  /** Waits for the run in progress. */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearInterval(this.#timer)
    clearTimeout(this.#soon)
    await this.#running
  }

  /** Sequences all committed changes. Returns their number. */
  async sequenceAll(): Promise<number> {
    const { database, onSequenced } = this.#ports
    let total = 0
    while (!this.#isStopped && (await hasChanges(database, this.sources))) {
      const count = await this.#sequence(this.#single > 0 ? 1 : batchSize)
      if (count === undefined) break
      if (count > 0) onSequenced()
      total += count
    }
    return total
  }

  #run(): void {
    if (this.#running || this.#isStopped) return
    this.#lastRunAt = performance.now()
    this.#running = this.sequenceAll()
      .then(() => undefined, this.#ports.onFault)
      .finally(() => {
        this.#running = undefined
      })
  }

  /**
   * Returns undefined while another replica holds the lock. After a failure, takes the changes one by one, to find the one
   * that fails.
   */
  async #sequence(limit: number): Promise<number | undefined> {
    const { database, onSetAside } = this.#ports
    let first: OutboxChange | undefined
    try {
      const done = await inTransaction(database, async (tx) => {
        const locked = await lockChanges(tx, this.sources, limit)
        first = locked?.changes[0]
        return locked && this.#sequenceBatch(tx, locked)
      })
      for (const failed of done?.failed ?? []) onSetAside(failed)
      if (done && this.#single > 0) this.#single -= 1
      this.#failures = 0
      return done?.count
    } catch (error) {
      if (!first) throw error
      this.#single = batchSize
      if (limit > 1) return 0
      this.#failures += 1
      if (isDatabaseUnavailable(error) && this.#failures < maxFailures) throw error
      await setAside(database, [failureOf(first, error)])
      onSetAside({ source: first.source, error })
      this.#failures = 0
      return 0
    }
  }

  async #sequenceBatch(tx: Tx, { head, changes }: { head: number; changes: readonly OutboxChange[] }) {
    const found: { change: OutboxChange; event: NewEvent }[] = []
    const failed: { change: OutboxChange; source: string; error: unknown }[] = []
    for (const change of changes)
      try {
        for (const event of await this.#toEvents(change, tx)) found.push({ change, event })
      } catch (error) {
        // A failed statement has ended the transaction.
        if (sqlState(error) !== undefined) throw error
        failed.push({ change, source: change.source, error })
      }
    const positions = await workspacePositions(
      tx,
      found.map(({ event }) => event.workspaceId),
    )
    const events = found.map(
      ({ change, event }, index): StoredEvent => ({
        ...event,
        id: this.#ports.ids.next<'event'>(),
        at: change.at,
        position: head + index + 1,
        workspacePosition: positions[index] ?? null,
      }),
    )
    const isFailed = new Set(failed.map(({ change }) => change))
    const done = changes.filter((change) => !isFailed.has(change))
    await insertEvents(
      tx,
      events,
      done.map(({ sequence }) => sequence),
    )
    if (failed.length > 0)
      await setAside(
        tx,
        failed.map(({ change, error }) => failureOf(change, error)),
      )
    if (events.length > 0) for (const consume of this.#ports.consumers) await consume(tx, events)
    return { count: done.length, failed }
  }

  async #toEvents(change: OutboxChange, tx: Tx): Promise<NewEvent[]> {
    const events = (await this.#mappers.get(change.source)?.toEvents(change, tx)) ?? []
    return events.map((event) => {
      const schema = this.#ports.schemas.get(event.type)
      if (!schema) throw new Error(`no contract declares the event ${event.type}`)
      return { ...event, data: schema.parse(event.data) }
    })
  }
}

/** An event that a domain has recorded itself. */
const RecordedEvent = z.object({
  type: z.string(),
  subject: z.string(),
  workspaceId: z
    .string()
    .transform((id) => bizId<'workspace'>(id))
    .nullable(),
  forOperators: z.boolean(),
  data: z.unknown(),
})

function recordedAs(source: string): EventMapper {
  return { source, toEvents: ({ new: event }) => [RecordedEvent.parse(event)] }
}

function failureOf({ sequence }: OutboxChange, error: unknown): FailedChange {
  return { sequence, failure: messageOf(error).slice(0, maxFailureLength) }
}

async function workspacePositions(tx: Tx, workspaces: readonly (WorkspaceId | null)[]): Promise<(number | null)[]> {
  const counts = new Map<WorkspaceId, number>()
  for (const id of workspaces) if (id !== null) counts.set(id, (counts.get(id) ?? 0) + 1)
  const next = new Map(await advanceWorkspaces(tx, counts))
  return workspaces.map((id) => {
    if (id === null) return null
    const position = (next.get(id) ?? 0) + 1
    next.set(id, position)
    return position
  })
}
