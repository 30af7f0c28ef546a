/* Receives a duration in seconds and returns the measurements. */
import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { type Drive, drive } from './drive.ts'
import type { Reading } from './reader.ts'

const niceness = -15

/** Raises this thread's priority. Works only on Linux and with permission. */
function goFirst(): void {
  try {
    setPriority(Number(readlinkSync('/proc/thread-self').split('/').at(-1)), niceness)
  } catch {
    // The load then delays the measurement.
  }
}

const { path, headers, ...pace }: Reading = workerData
const step: Drive['step'] = async (line) => {
  const { status, body } = await line.sendRequest({ method: 'GET', path, headers })
  if (status !== 200) throw new Error(`${status} ${body}`)
}

goFirst()
parentPort?.on('message', async (seconds: number) => parentPort?.postMessage(await drive({ ...pace, seconds, step })))
