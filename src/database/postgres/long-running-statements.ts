import { Socket } from 'node:net'
import type { ClientConfig } from 'pg'
import type { Database } from '../tables.ts'
import { openPool } from './pool.ts'
import { withoutTimeoutsPreamble } from './session.ts'

/** Detect a dead server by TCP keepalive: a long-running statement is silent, too. */
const keepAliveInitialDelayMillis = 10_000

interface Server {
  config: ClientConfig
  onConnectionBroken(error: Error): void
}

/**
 * Runs work on a connection of its own without statement timeouts, and closes the connection. If the signal is aborted,
 * cuts the connection and rejects with the signal's reason.
 */
export const runWithoutTimeouts = async <T>(
  { config, onConnectionBroken }: Server,
  work: (database: Database) => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> => {
  signal?.throwIfAborted()
  let socket: Socket | undefined
  const stream = () => {
    socket = new Socket()
    return socket
  }
  const cut = () => void socket?.destroy()
  const single = { ...config, max: 1, pipeline: true, keepAliveInitialDelayMillis, stream }
  const { pool, database } = openPool(single, withoutTimeoutsPreamble, (error) => {
    if (!signal?.aborted) onConnectionBroken(error)
  })
  pool.on('connect', () => {
    if (signal?.aborted) cut()
  })
  signal?.addEventListener('abort', cut)
  try {
    return await work(database)
  } catch (error) {
    signal?.throwIfAborted()
    throw error
  } finally {
    signal?.removeEventListener('abort', cut)
    await database.destroy()
  }
}
