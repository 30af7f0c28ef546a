import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Drive, Driven } from './drive.ts'

/** GETs at an even pace. */
export interface Reading extends Pick<Drive, 'url' | 'loops'> {
  pace: number
  path: string
  headers: Record<string, string>
}

export interface Reader {
  read(seconds: number): Promise<Driven>
  stop(): Promise<number>
}

/**
 * Reads in a thread of its own: beside two hundred logins the bench's own event loop stands still for 20 ms at times,
 * which would be told of the gateway.
 */
export const openReader = (reading: Reading): Reader => {
  const worker = new Worker(new URL('reader-thread.ts', import.meta.url), { workerData: reading })
  return {
    read: async (seconds) => {
      worker.postMessage(seconds)
      const [driven]: Driven[] = await once(worker, 'message')
      if (!driven) throw new Error('the reader told nothing')
      return driven
    },
    stop: () => worker.terminate(),
  }
}
