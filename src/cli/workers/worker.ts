import cluster from 'node:cluster'
import { z } from 'zod'
import { readWorkerVariable, workerVariable } from '../../config/env.ts'

const Worker = z.strictObject({
  /** From 1. The successor of a dead worker gets its number. */
  number: z.int(),
  /** Workers of this machine. */
  of: z.int(),
  /** Of the portal listener. Not 0. */
  port: z.int(),
  /** Path of the socket of its operations listener. */
  socket: z.string(),
})

/** A process that `serve --workers` has started. */
export type Worker = z.output<typeof Worker>

/** `loading`: the process handles SIGHUP, but has not read its configuration. `serving`: its listeners are open. */
export const WorkerMessage = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('loading') }),
  z.strictObject({ kind: z.literal('serving') }),
])
export type WorkerMessage = z.output<typeof WorkerMessage>

/** Variables of the process of a worker. */
export function variablesOf(worker: Worker): Record<string, string> {
  return { [workerVariable]: JSON.stringify(worker) }
}

/** Null in a process that no supervisor has started. */
export function ownWorker(): Worker | null {
  return cluster.isWorker ? Worker.parse(JSON.parse(readWorkerVariable() ?? '')) : null
}

/** Does nothing in a process without a supervisor. */
export function notifySupervisor(message: WorkerMessage): void {
  if (cluster.isWorker) process.send?.(message)
}
