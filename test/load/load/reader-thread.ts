/* One reader's thread (reader.ts): answers each number of seconds that it is sent with what it has read meanwhile. */
import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { type Drive, drive } from './drive.ts'
import type { Reading } from './reader.ts'

const niceness = -15

/** The thread that looks at the clock is not to wait for those that make the load. On Linux, for whoever may. */
const goFirst = (): void => {
  try {
    setPriority(Number(readlinkSync('/proc/thread-self').split('/').at(-1)), niceness)
  } catch {
    // Then its times tell of the load's own core too, as they do where there is one core for everything.
  }
}

const { path, headers, ...pace }: Reading = workerData
const step: Drive['step'] = async (line) => {
  const { status, body } = await line.ask({ method: 'GET', path, headers })
  if (status !== 200) throw new Error(`${status} ${body}`)
}

goFirst()
parentPort?.on('message', async (seconds: number) => parentPort?.postMessage(await drive({ ...pace, seconds, step })))
