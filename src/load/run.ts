import { isPorticoError } from '../client/index.ts'
import { messageOf, type Operation, type Randomness } from '../kernel/index.ts'
import type { Actor } from './accounts.ts'
import { Measurements, success } from './measurements.ts'
import { type Action, type FlowOwners, type PlannedRequest, pick, planReads } from './scenarios.ts'
import type { TransferBook } from './transfers.ts'

const maxFailures = 5

export interface RunPorts {
  /** A monotonic clock in milliseconds. */
  now(): number
  randomness: Randomness
}

/** Sends the actions of one scenario. */
export class Run {
  readonly measurements: Measurements
  /** Descriptions of replies with data of another account. */
  readonly leaks: string[] = []
  /** Messages of the first failures without a request. */
  readonly failures = new Set<string>()
  readonly book: TransferBook
  private readonly actors: readonly Actor[]
  private readonly ports: RunPorts
  private readonly visitors: Actor[]
  private reads = 0
  private readonly flowOwners: FlowOwners = new Map()

  constructor(actors: readonly Actor[], book: TransferBook, durationSeconds: number, ports: RunPorts) {
    this.actors = actors
    this.ports = ports
    this.book = book
    this.visitors = actors.filter(({ visit }) => visit !== null)
    this.measurements = new Measurements(ports.now(), durationSeconds)
  }

  /** Runs an action that was scheduled for `due`. Never rejects. */
  async act(action: Action, due: number): Promise<void> {
    if (action === 'sign-in' && this.visitors.length === 0) return this.measurements.drop()
    try {
      if (action === 'read') await this.read(due)
      else if (action === 'sign-in') await this.signIn(due)
      else await this.transfer(action === 'sealed-transfer', due)
      this.measurements.complete()
    } catch (error) {
      // `timed` has recorded the errors of requests. This is an error before or between requests.
      if (isPorticoError(error)) return
      this.measurements.record('load', due, this.ports.now(), outcomeOf(error))
      if (this.failures.size < maxFailures) this.failures.add(messageOf(error))
    }
  }

  private async timed<T>(operation: Operation, startedAt: number, task: () => Promise<T>): Promise<T> {
    try {
      const result = await task()
      this.measurements.record(operation.id, startedAt, this.ports.now(), success)
      return result
    } catch (error) {
      if (isPorticoError(error)) this.measurements.record(operation.id, startedAt, this.ports.now(), outcomeOf(error))
      throw error
    }
  }

  private async send({ name, caller }: Actor, request: PlannedRequest, due: number) {
    const foreign = await this.timed(request.operation, due, () => request.send(caller))
    if (foreign !== null) this.leaks.push(`${request.operation.id} of ${name}: ${foreign}`)
  }

  /** The accounts take turns, and each one sends every kind of read in turn. */
  private async read(due: number): Promise<void> {
    const turn = this.reads++
    const actor = itemAt(this.actors, turn)
    const round = Math.floor(turn / this.actors.length)
    const kinds = planReads(actor, pick(actor.wallets, this.ports.randomness), this.flowOwners)
    await this.send(actor, itemAt(kinds, round), due)
  }

  private async transfer(seal: boolean, due: number): Promise<void> {
    const { actor, request, command } = this.book.plan(seal)
    try {
      await this.send(actor, request, due)
    } catch (error) {
      this.book.fail(command, error)
      throw error
    }
  }

  /** Signs in the account that has waited longest. An account signs in once at a time, because its codes would mix. */
  private async signIn(due: number): Promise<void> {
    const visitor = this.visitors.shift()
    if (!visitor?.visit) throw new RangeError('no account can sign in')
    let isFirst = true
    try {
      await visitor.visit((operation, task) => {
        const startedAt = isFirst ? due : this.ports.now()
        isFirst = false
        return this.timed(operation, startedAt, task)
      })
    } finally {
      this.visitors.push(visitor)
    }
  }
}

/** Returns an outcome for the statistics: the status with the refusal code, or a code of the client. */
function outcomeOf(error: unknown): string {
  if (!isPorticoError(error)) return 'CLIENT.FAILED'
  return error.status === 0 ? error.code : `${error.status} ${error.code}`
}

/** Returns an item of a list that is repeated without end. */
function itemAt<T>(items: readonly T[], index: number): T {
  const item = items[index % items.length]
  if (item === undefined) throw new RangeError('the list is empty')
  return item
}
