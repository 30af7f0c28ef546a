import { Refusal } from './refusal.ts'
import type { MaybePromise } from './reply.ts'

/** If `signal` aborts while the task waits, the task leaves the queue and the promise rejects with the signal's reason. */
export type RunLimited = <T>(task: () => Promise<T>, signal?: AbortSignal) => Promise<T>

export interface ConcurrencyLimiter {
  /** Throws SYSTEM.UNAVAILABLE if the queue is full. */
  runLimited: RunLimited
  waiting(): number
}

export interface ConcurrencyLimits {
  concurrency: number
  /** Maximum length of the queue. */
  waiting: number
}

export function createConcurrencyLimiter({ concurrency, waiting }: ConcurrencyLimits): ConcurrencyLimiter {
  let running = 0
  const queue: (() => void)[] = []

  const acquire = async (signal?: AbortSignal): Promise<void> => {
    if (running < concurrency) {
      running++
      return
    }
    if (queue.length >= waiting) {
      throw new Refusal('SYSTEM.UNAVAILABLE', { internal: 'the concurrency limiter’s queue is full', retryAfter: 1 })
    }
    signal?.throwIfAborted()
    await new Promise<void>((resolve, reject) => {
      const leave = (): void => {
        queue.splice(queue.indexOf(enter), 1)
        reject(signal?.reason)
      }
      const enter = (): void => {
        signal?.removeEventListener('abort', leave)
        resolve()
      }
      queue.push(enter)
      signal?.addEventListener('abort', leave, { once: true })
    })
  }

  /** Passes the slot on, so that a new task cannot overtake the queue. */
  const release = (): void => {
    const next = queue.shift()
    if (next) next()
    else running--
  }

  return {
    waiting: () => queue.length,
    runLimited: async (task, signal) => {
      await acquire(signal)
      try {
        return await task()
      } finally {
        release()
      }
    },
  }
}

/** Limits concurrent tasks of anonymous clients, so that a flood delays those who cause it. */
export interface FairLimiter {
  /**
   * Runs known clients first. Within both kinds, networks take turns. If the queue is full, throws SYSTEM.UNAVAILABLE for
   * the newest task of the network that waits most. `isKnown` is called only if the task has to wait.
   */
  runLimited<T>(task: () => Promise<T>, client: { network: string; isKnown: () => MaybePromise<boolean> }): Promise<T>
  waiting(): number
}

interface Waiting {
  start(): void
  reject(error: Refusal): void
}

/** The networks take turns. */
class NetworkQueue {
  readonly #networks = new Map<string, Waiting[]>()
  readonly #max: number
  size = 0

  constructor(max: number) {
    this.#max = max
  }

  /** In a full queue, the newest of the network that waits most gives its place to a network that waits less. */
  add(network: string, waiting: Waiting): void {
    const own = this.#networks.get(network) ?? []
    if (this.size >= this.#max) {
      const largest = [...this.#networks.values()].reduce(
        (most, each) => (each.length > most.length ? each : most),
        own,
      )
      const evicted = largest.length > own.length + 1 ? largest.pop() : waiting
      evicted?.reject(
        new Refusal('SYSTEM.UNAVAILABLE', { internal: 'the fair limiter’s queue is full', retryAfter: 1 }),
      )
      if (evicted === waiting) return
      this.size -= 1
    }
    this.#networks.set(network, own)
    own.push(waiting)
    this.size += 1
  }

  take(mayStart: (network: string) => boolean = () => true): Waiting | undefined {
    for (const [network, [first, ...rest]] of this.#networks) {
      if (!mayStart(network)) continue
      // A map iterates in the order of insertion, so the network goes to the end.
      this.#networks.delete(network)
      if (rest.length > 0) this.#networks.set(network, rest)
      this.size -= 1
      return first
    }
    return undefined
  }

  remove(network: string, waiting: Waiting): void {
    const own = this.#networks.get(network) ?? []
    const rest = own.filter((each) => each !== waiting)
    this.size -= own.length - rest.length
    // A name that is in the map keeps its turn.
    if (rest.length > 0) this.#networks.set(network, rest)
    else this.#networks.delete(network)
  }
}

/** After this many known clients, an unknown one that waits is next, so that it is not delayed forever. */
const maxKnownInRow = 3

/** Known and unknown clients each have a queue of `waiting`, so that the unknown cannot fill the other. */
export function createFairLimiter({ concurrency, waiting }: ConcurrencyLimits): FairLimiter {
  let running = 0
  let knownInRow = 0
  const [known, unknown] = [new NetworkQueue(waiting), new NetworkQueue(waiting)]

  const next = (): Waiting | undefined => {
    if (known.size === 0 || (unknown.size > 0 && knownInRow >= maxKnownInRow)) {
      knownInRow = 0
      return unknown.take()
    }
    knownInRow += 1
    return known.take()
  }

  const release = (): void => {
    const waiter = next()
    if (waiter) waiter.start()
    else running--
  }

  return {
    waiting: () => known.size + unknown.size,
    runLimited: async (task, { network, isKnown }) => {
      const queue = running < concurrency ? undefined : (await isKnown()) ? known : unknown
      // A task may have ended during the question.
      if (running < concurrency) running++
      else await new Promise<void>((start, reject) => (queue ?? unknown).add(network, { start, reject }))
      try {
        return await task()
      } finally {
        release()
      }
    },
  }
}

/** Limits concurrent tasks of many callers, so that one of them cannot take all slots and all places in the queue. */
export interface SharedLimiter {
  /**
   * Callers take turns, and none runs more than three quarters of the tasks. If the queue is full, throws
   * SYSTEM.UNAVAILABLE for the newest task of the caller that waits most. The signal of the client, which is read only for
   * a task that waits, has the effect of `RunLimited`.
   */
  runLimited<T>(task: () => Promise<T>, caller: string, client?: { readonly signal: AbortSignal }): Promise<T>
}

const maxShare = 0.75

export function createSharedLimiter({ concurrency, waiting }: ConcurrencyLimits): SharedLimiter {
  const maxRunning = Math.max(1, Math.floor(concurrency * maxShare))
  const running = new Map<string, number>()
  const queue = new NetworkQueue(waiting)
  let free = concurrency

  const mayStart = (caller: string): boolean => (running.get(caller) ?? 0) < maxRunning

  const start = (caller: string): void => {
    free -= 1
    running.set(caller, (running.get(caller) ?? 0) + 1)
  }

  const wait = (caller: string, signal?: AbortSignal): Promise<void> => {
    signal?.throwIfAborted()
    return new Promise<void>((resolve, reject) => {
      const leave = (): void => {
        queue.remove(caller, waiter)
        reject(signal?.reason)
      }
      const waiter: Waiting = {
        start: () => {
          signal?.removeEventListener('abort', leave)
          start(caller)
          resolve()
        },
        reject: (error) => {
          signal?.removeEventListener('abort', leave)
          reject(error)
        },
      }
      signal?.addEventListener('abort', leave, { once: true })
      queue.add(caller, waiter)
    })
  }

  const release = (caller: string): void => {
    free += 1
    const left = (running.get(caller) ?? 0) - 1
    if (left > 0) running.set(caller, left)
    else running.delete(caller)
    queue.take(mayStart)?.start()
  }

  return {
    runLimited: async (task, caller, client) => {
      if (free > 0 && mayStart(caller)) start(caller)
      else await wait(caller, client?.signal)
      try {
        return await task()
      } finally {
        release(caller)
      }
    },
  }
}

/** Handles batches of `size` until one is not full, or until the signal aborts. `handle` returns the size of a batch. */
export async function untilNotFull(
  size: number,
  signal: AbortSignal,
  handle: (size: number) => Promise<number>,
): Promise<void> {
  for (let handled = size; handled === size && !signal.aborted; ) handled = await handle(size)
}

/** Larger batches would occupy the event loop when their rows arrive. */
const maxBatch = 1_000

interface WaitingKey<Key, Value> {
  key: Key
  found: PromiseWithResolvers<Value | undefined>
}

/** Loads the keys of one moment together, such as those of all open streams. */
export class BatchLoader<Key, Value> {
  readonly #nameOf: (key: Key) => string
  readonly #loadAll: (keys: Key[]) => Promise<ReadonlyMap<string, Value>>
  #waiting = new Map<string, WaitingKey<Key, Value>>()

  /** `loadAll` returns the values by the names of their keys. */
  constructor(nameOf: (key: Key) => string, loadAll: (keys: Key[]) => Promise<ReadonlyMap<string, Value>>) {
    this.#nameOf = nameOf
    this.#loadAll = loadAll
  }

  load(key: Key): Promise<Value | undefined> {
    const name = this.#nameOf(key)
    const known = this.#waiting.get(name)
    if (known) return known.found.promise
    const waiting = { key, found: Promise.withResolvers<Value | undefined>() }
    this.#waiting.set(name, waiting)
    if (this.#waiting.size === maxBatch) void this.#flush(this.#waiting)
    else if (this.#waiting.size === 1) this.#flushSoon(this.#waiting)
    return waiting.found.promise
  }

  #flushSoon(batch: Map<string, WaitingKey<Key, Value>>): void {
    setTimeout(() => {
      if (this.#waiting === batch) void this.#flush(batch)
    })
  }

  async #flush(batch: Map<string, WaitingKey<Key, Value>>): Promise<void> {
    this.#waiting = new Map()
    try {
      const values = await this.#loadAll([...batch.values()].map(({ key }) => key))
      for (const [name, { found }] of batch) found.resolve(values.get(name))
    } catch (error) {
      for (const { found } of batch.values()) found.reject(error)
    }
  }
}
