import { constants } from 'node:os'
import { exit } from 'node:process'

const signals = ['SIGTERM', 'SIGINT'] as const

const end = (signal: NodeJS.Signals) => exit(128 + constants.signals[signal])

/**
 * The first process of a container is spared by the system whatever signal it does not listen for: whoever stops one that starts or
 * migrates would wait until it is killed.
 */
export const endBySignals = (): void => {
  for (const signal of signals) process.on(signal, end)
}

/** Comes with the next signal, in place of the end; the one after it ends the process again. */
export const signalled = (): Promise<NodeJS.Signals> =>
  new Promise((resolve) => {
    const heard = (signal: NodeJS.Signals) => {
      for (const each of signals) process.off(each, heard).on(each, end)
      resolve(signal)
    }
    for (const signal of signals) process.off(signal, end).on(signal, heard)
  })
