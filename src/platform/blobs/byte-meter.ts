import { createHash } from 'node:crypto'
import { Transform } from 'node:stream'
import { countStreamedBytes } from '../runtime/index.ts'

export interface ByteMeter {
  through: Transform
  size(): number
  /** Hex; to be asked once, when everything has gone through. */
  sha256(): string
}

/** Counts and hashes what goes through; `judge` sees the size so far and may throw. */
export const createByteMeter = (judge: (size: number) => void = () => undefined): ByteMeter => {
  const hash = createHash('sha256')
  let size = 0
  const through = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.length
      hash.update(chunk)
      countStreamedBytes(chunk.length)
      try {
        judge(size)
        done(null, chunk)
      } catch (error) {
        done(error instanceof Error ? error : new Error(String(error)))
      }
    },
  })
  return { through, size: () => size, sha256: () => hash.digest('hex') }
}
