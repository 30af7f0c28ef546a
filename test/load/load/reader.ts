import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Drive, Driven } from './drive.ts'

export interface Reading extends Pick<Drive, 'url' | 'loops'> {
  pace: number
  path: string
  headers: Record<string, string>
}

export interface Reader {
  read(seconds: number): Promise<Driven>
  stop(): Promise<number>
}

/** Uses a worker thread, because logins block the main event loop for up to 20 ms. */
export function openReader(reading: Reading): Reader {
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
