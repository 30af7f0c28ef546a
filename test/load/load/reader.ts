import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Drive, Driven } from './drive.ts'

/** GET requests at a constant rate. */
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
 * Starts a worker thread that measures. Logins block the main event loop for up to 20 ms, which would distort the
 * latency.
 */
export const openReader = (reading: Reading): Reader => {
  const worker = new Worker(new URL('reader-thread.ts', import.meta.url), { workerData: reading })
  return {
    read: async (seconds) => {
      worker.postMessage(seconds)
      const [driven]: Driven[] = await once(worker, 'message')
      if (!driven) throw new Error('the reader returned no measurements')
      return driven
    },
    stop: () => worker.terminate(),
  }
}
