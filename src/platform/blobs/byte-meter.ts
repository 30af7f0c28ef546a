import { createHash } from 'node:crypto'
import { Transform } from 'node:stream'
import { countStreamedBytes } from '../runtime/index.ts'

export interface ByteMeter {
  through: Transform
  size(): number
  /** Hex. Call this once, after the stream has ended. */
  sha256(): string
}

/** A transform stream that counts and hashes its bytes. `assertSize` gets the size so far and may throw to stop it. */
export const createByteMeter = (assertSize: (size: number) => void = () => undefined): ByteMeter => {
  const hash = createHash('sha256')
  let size = 0
  const through = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.length
      hash.update(chunk)
      countStreamedBytes(chunk.length)
      try {
        assertSize(size)
        done(null, chunk)
      } catch (error) {
        done(error instanceof Error ? error : new Error(String(error)))
      }
    },
  })
  return { through, size: () => size, sha256: () => hash.digest('hex') }
}
