import { z } from 'zod'
import { type Database, inTransaction, type Tx } from '../../database/index.ts'
import { bizId, type Ids, messageOf, type WorkspaceId } from '../../kernel/index.ts'
import type { EventConsumer, EventMapper, NewEvent, StoredEvent } from './event.ts'
import {
  advanceWorkspaces,
  hasChanges,
  insertEvents,
  lockHead,
  type OutboxChange,
  recordedSource,
  retryFailed,
  setAside,
  takeChanges,
} from './store.ts'

/** Bounds the memory and the duration of one transaction. */
const batchSize = 500

/** Finds the changes of jobs and of other processes. Each poll is one indexed read. */
const pollMs = 500

/** Groups the changes of concurrent commands. */
const pauseMs = 10

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
  #timer: NodeJS.Timeout | undefined
  #soon: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #isStopped = false

  constructor(ports: SequencerPorts) {
    this.#ports = ports
    this.#mappers = new Map([recorded, ...ports.mappers].map((mapper) => [mapper.source, mapper]))
  }

  /** Tries the changes again that failed in an earlier release. */
  async start(): Promise<void> {
    await retryFailed(this.#ports.database)
    this.#timer = setInterval(() => this.#run(), pollMs)
  }

  /** Call this after a command. */
  wake(): void {
    if (this.#isStopped || this.#soon) return
    this.#soon = setTimeout(() => {
      this.#soon = undefined
      // Changes that commit now could miss the run in progress.
      if (this.#running) void this.#running.finally(() => this.#run())
      else this.#run()
    }, pauseMs)
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
    while (!this.#isStopped && (await hasChanges(database, [...this.#mappers.keys()]))) {
      const count = await inTransaction(database, (tx) => this.#sequenceBatch(tx))
      total += count
      if (count === 0) break
      onSequenced()
    }
    return total
  }

  #run(): void {
    if (this.#running || this.#isStopped) return
    this.#running = this.sequenceAll()
      .then(() => undefined, this.#ports.onFault)
      .finally(() => {
        this.#running = undefined
      })
  }

  async #sequenceBatch(tx: Tx): Promise<number> {
    const head = await lockHead(tx)
    if (head === undefined) return 0
    const changes = await takeChanges(tx, [...this.#mappers.keys()], batchSize)
    const found: { change: OutboxChange; event: NewEvent }[] = []
    for (const change of changes)
      try {
        for (const event of await this.#toEvents(change, tx)) found.push({ change, event })
      } catch (error) {
        // The other changes must not wait for it.
        await setAside(tx, change, messageOf(error).slice(0, maxFailureLength))
        this.#ports.onSetAside({ source: change.source, error })
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
    await insertEvents(tx, events)
    if (events.length > 0) for (const consume of this.#ports.consumers) await consume(tx, events)
    return changes.length
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

const recorded: EventMapper = {
  source: recordedSource,
  toEvents: ({ new: event }) => [RecordedEvent.parse(event)],
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
