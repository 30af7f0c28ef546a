import type { Server } from 'node:http'
import { Server as Listener } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'

const sweepMs = 50
/** So long at most for a turn of the event loop that brings no connection. */
const longestWaitMs = 1_000

/**
 * The system resets the connections that nobody has accepted when their listener closes, and Node accepts one in a turn of its
 * event loop: so the listener closes when two turns have brought none. A balancer that asks nobody's readiness sends them to
 * the end.
 */
const whenNoneWaits = async (server: Server): Promise<void> => {
  let accepted = 0
  const count = (): void => {
    accepted += 1
  }
  server.on('connection', count)
  const latest = performance.now() + longestWaitMs
  for (let seen = -1; seen !== accepted && performance.now() < latest; ) {
    seen = accepted
    await turn()
    await turn()
  }
  server.off('connection', count)
}

/**
 * Closes a listener: no new connection, the busy ones end with their answer and the idle ones soon; what is not done by
 * `timeoutMs` is cut off. Answers how many connections had to be.
 */
export const closeListener = async (server: Server, timeoutMs: number): Promise<number> => {
  await whenNoneWaits(server)
  return new Promise((resolve) => {
    let cut = 0
    const sweep = setInterval(() => server.closeIdleConnections(), sweepMs)
    const late = setTimeout(() => {
      server.getConnections((_error, count) => {
        cut = count
        server.closeAllConnections()
      })
    }, timeoutMs)
    // An HTTP server's own close ends the idle ones at once, also one whose first request has come and has not been read.
    Listener.prototype.close.call(server, () => {
      clearInterval(sweep)
      clearTimeout(late)
      resolve(cut)
    })
  })
}
