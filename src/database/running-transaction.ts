import { AsyncLocalStorage } from 'node:async_hooks'

/** Who opened a transaction, and with which port. */
export interface Opener {
  /** An operation id, or the name of a domain. */
  owner: string
  port: 'once' | 'transaction'
}

interface Running extends Opener {
  hasEnded: boolean
}

const running = new AsyncLocalStorage<Running | undefined>()

/** Marks the asynchronous context of `work` until `work` settles. */
export const whileRunning = async <T>(opener: Opener, work: () => Promise<T>): Promise<T> => {
  const mark = { ...opener, hasEnded: false }
  try {
    return await running.run(mark, work)
  } finally {
    mark.hasEnded = true
  }
}

/**
 * Throws inside a running transaction. A second connection would wait for the first one forever on the embedded store,
 * and would write outside of the transaction on PostgreSQL.
 */
export const assertNoTransaction = (port: string): void => {
  const mark = running.getStore()
  if (mark && !mark.hasEnded) throw new Error(`${mark.owner} uses \`${port}\` inside \`${mark.port}\`: use \`tx\``)
}

/** Runs work for which a running transaction does not wait. */
export const detached = <T>(work: () => T): T => running.run(undefined, work)
