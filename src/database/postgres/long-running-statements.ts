import { Socket } from 'node:net'
import type { ClientConfig } from 'pg'
import type { OpenDatabase } from '../open-database.ts'
import { openPool } from './pool.ts'
import { withoutTimeoutsPreamble } from './session.ts'

/** A server that is gone is noticed by TCP, since a statement that is still at work is as silent. */
const firstProbeMs = 10_000

/**
 * Work on a connection of its own, which is closed afterwards, and whose statements are given all the time they need.
 * A signal cuts the connection off, and the work rejects with its reason.
 */
export const runWithoutTimeouts =
  (config: ClientConfig, onConnectionBroken: (error: Error) => void): OpenDatabase['patiently'] =>
  async (work, signal) => {
    signal?.throwIfAborted()
    let socket: Socket | undefined
    const stream = () => {
      socket = new Socket()
      return socket
    }
    const cut = () => void socket?.destroy()
    const one = { ...config, max: 1, pipeline: true, keepAliveInitialDelayMillis: firstProbeMs, stream }
    const { pool, database } = openPool(one, withoutTimeoutsPreamble, (error) => {
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
