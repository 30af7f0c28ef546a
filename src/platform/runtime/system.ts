import { randomFillSync, randomInt } from 'node:crypto'
import { v7 } from 'uuid'
import { bizId, type Clock, type Ids, instantOf, type Randomness } from '../../kernel/index.ts'

/** The machine's own time. */
export const systemClock: Clock = { now: () => instantOf(Date.now()) }

/** The operating system's generator, through node:crypto. */
export const systemRandomness: Randomness = {
  bytes: (count) => randomFillSync(new Uint8Array(count)),
  integer: (limit) => randomInt(limit),
}

const idBytes = 16
const drawn = new Uint8Array(256 * idBytes)
let used = drawn.length

/** Random bytes for one id, each given out once; drawn for many at a time, since a drawing costs more than the id. */
const randomBytes = (): Uint8Array => {
  if (used === drawn.length) {
    randomFillSync(drawn)
    used = 0
  }
  used += idBytes
  return drawn.subarray(used - idBytes, used)
}

let msecs = 0
let counter = 0

/**
 * UUIDv7 (RFC 9562), monotonic within a process: a counter that starts at random with each millisecond (its section 6.2,
 * method 1), and carries into the next one.
 */
export const systemIds: Ids = {
  next: () => {
    const random = randomBytes()
    const now = Date.now()
    if (now > msecs) {
      msecs = now
      counter = new DataView(random.buffer, random.byteOffset).getUint32(0) >>> 1
    } else {
      counter = (counter + 1) | 0
      if (counter === 0) msecs += 1
    }
    return bizId(v7({ random, msecs, seq: counter }))
  },
}
