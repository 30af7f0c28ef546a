import { randomFillSync, randomInt } from 'node:crypto'
import { hostname } from 'node:os'
import { v7 } from 'uuid'
import { bizId, type Clock, type Durations, type Ids, type Randomness, toInstant } from '../../kernel/index.ts'

/** The name of this process in logs and traces. Several can run on one host. */
export function replicaName(): string {
  return `${hostname()}-${process.pid}`
}

/** If this process was busy or suspended, a response that has arrived is read before `onExpired` runs. */
export function setDeadline(onExpired: () => void, milliseconds: number): NodeJS.Timeout {
  return setTimeout(() => setImmediate(onExpired), milliseconds)
}

export function withTimeout(
  response: Promise<unknown>,
  milliseconds: number,
  onExpired = (): void => undefined,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const expire = (): void => {
      reject(new Error(`no answer within ${milliseconds} ms`))
      onExpired()
    }
    const timer = setDeadline(expire, milliseconds)
    response.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

/** Resolves once `done` resolves, or after `ms`. */
export async function waitFor(done: Promise<void>, ms: number): Promise<void> {
  if (ms <= 0) return
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  await Promise.race([done, promise])
  clearTimeout(timer)
}

export const systemClock: Clock = { now: () => toInstant(Date.now()) }

export const systemDurations: Durations = {
  now: () => performance.now(),
  after: (ms, task) => setTimeout(task, ms),
  every: (ms, task) => setInterval(task, ms),
}

export const systemRandomness: Randomness = {
  bytes: (count) => randomFillSync(new Uint8Array(count)),
  integer: (limit) => randomInt(limit),
}

const idBytes = 16
const pool = new Uint8Array(256 * idBytes)
let used = pool.length

let milliseconds = 0
let counter = 0

/**
 * UUIDv7 (RFC 9562), monotonic within a process: a counter that starts at random in each millisecond (section 6.2,
 * method 1) and carries over into the next millisecond.
 */
export const systemIds: Ids = {
  next: () => {
    const random = nextRandomBytes()
    const now = Date.now()
    if (now > milliseconds) {
      milliseconds = now
      counter = new DataView(random.buffer, random.byteOffset).getUint32(0) >>> 1
    } else {
      counter = (counter + 1) | 0
      if (counter === 0) milliseconds += 1
    }
    return bizId(v7({ random, msecs: milliseconds, seq: counter }))
  },
}

/** Generates bytes for 256 ids per call, because a call costs more than an id. */
function nextRandomBytes(): Uint8Array {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  used += idBytes
  return pool.subarray(used - idBytes, used)
}
