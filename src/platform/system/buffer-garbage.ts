import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

type CollectGarbage = (options: { type: 'minor'; execution: 'sync' }) => void

const everyBytes = 8 * 1024 * 1024

const exposed = (): CollectGarbage => {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc')
}

let collect: CollectGarbage | undefined
let since = 0

/**
 * To be told by whoever passes a stream's bytes on. V8 looks for young garbage by how much of its own heap is in use,
 * and the bytes of buffers lie outside it: of 100 MB that were streamed, 40 lay about. So it is asked to look after
 * every 8 MB, which takes it a millisecond or so.
 */
export const passedOn = (bytes: number): void => {
  since += bytes
  if (since < everyBytes) return
  since = 0
  collect ??= exposed()
  collect({ type: 'minor', execution: 'sync' })
}
