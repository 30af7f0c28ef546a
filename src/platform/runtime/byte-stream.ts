import type { Readable } from 'node:stream'

declare module '../../kernel/request.ts' {
  /** Here bytes travel as Node's own streams. */
  interface ByteStream extends Readable {}
}
