import { randomFillSync, randomInt } from 'node:crypto'
import type { Randomness } from '../../kernel/index.ts'

/** The operating system's generator, through node:crypto. */
export const systemRandomness: Randomness = {
  bytes: (count) => randomFillSync(new Uint8Array(count)),
  integer: (limit) => randomInt(limit),
}
