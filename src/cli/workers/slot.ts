import cluster, { type Worker as ClusterWorker } from 'node:cluster'
import { rmSync } from 'node:fs'
import { constants } from 'node:os'
import { variablesOf, type Worker, WorkerMessage } from './worker.ts'

/** A worker that died is missed by nobody for this time: the others serve its share. */
const firstRestartMs = 250
/** A worker that dies at each start costs one start of a second or two in this time. */
const maxRestartMs = 30_000
/** A worker that served for this long did not die of what killed the one before. */
const stableMs = 60_000

export interface EndedWorker {
  worker: number
  pid: number | undefined
  /** 128 plus the number of the signal that has killed it, like in a shell. */
  code: number
  hasServed: boolean
}

export interface SlotEvents {
  onServing(slot: Slot): void
  onEnd(slot: Slot, ended: EndedWorker): void
}

/** The place of one worker. Its processes follow each other. */
export class Slot {
  readonly worker: Worker
  readonly #events: SlotEvents
  #process: ClusterWorker | null = null
  #state: 'ended' | 'forked' | 'loading' | 'serving' = 'ended'
  #reloadsOnceLoading = false
  #servingSince = 0
  #failures = 0
  #timer: NodeJS.Timeout | undefined

  constructor(worker: Worker, events: SlotEvents) {
    this.worker = worker
    this.#events = events
  }

  get pid(): number | undefined {
    return this.#process?.process.pid
  }

  get isServing(): boolean {
    return this.#state === 'serving'
  }

  get isEnded(): boolean {
    return this.#state === 'ended'
  }

  start(): void {
    clearTimeout(this.#timer)
    // A killed process leaves its socket behind.
    rmSync(this.worker.socket, { force: true })
    const forked = cluster.fork(variablesOf(this.worker))
    this.#process = forked
    this.#state = 'forked'
    this.#reloadsOnceLoading = false
    forked.on('message', (message) => this.#receive(message))
    // The process could not be started, or a message could not be sent to it. `exit` follows.
    forked.on('error', () => undefined)
    forked.once('exit', (code, signal) => this.#end(forked, code, signal))
  }

  /** Returns the delay. */
  restartLater(): number {
    const delayMs = Math.min(maxRestartMs, firstRestartMs * 2 ** this.#failures)
    this.#failures += 1
    this.#timer = setTimeout(() => this.start(), delayMs)
    return delayMs
  }

  cancelRestart(): void {
    clearTimeout(this.#timer)
  }

  /** A process that has no listener for SIGHUP yet would end. */
  reload(): void {
    if (this.#state === 'forked') this.#reloadsOnceLoading = true
    else this.kill('SIGHUP')
  }

  kill(signal: NodeJS.Signals): void {
    if (!this.isEnded) this.#process?.process.kill(signal)
  }

  #receive(message: unknown): void {
    const { data } = WorkerMessage.safeParse(message)
    if (data?.kind === 'loading') {
      this.#state = 'loading'
      if (this.#reloadsOnceLoading) this.kill('SIGHUP')
    }
    if (data?.kind === 'serving') {
      this.#state = 'serving'
      this.#servingSince = performance.now()
      this.#events.onServing(this)
    }
  }

  #end(forked: ClusterWorker, code: number | null, signal: string | null): void {
    const hasServed = this.#state === 'serving'
    this.#state = 'ended'
    if (hasServed && performance.now() - this.#servingSince >= stableMs) this.#failures = 0
    this.#events.onEnd(this, {
      worker: this.worker.number,
      pid: forked.process.pid,
      code: code ?? 128 + numberOf(signal),
      hasServed,
    })
  }
}

function numberOf(signal: string | null): number {
  return Object.entries(constants.signals).find(([name]) => name === signal)?.[1] ?? 0
}
