import type { Server } from 'node:http'
import { Server as NetServer } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'

const idleSweepMs = 50
/** Maximum time to wait until two turns of the event loop pass without a new connection. */
const maxAcceptMs = 1_000

/**
 * Waits until the accept backlog is empty. Closing the listener would reset connections that are not accepted yet. Node
 * accepts one connection per turn of the event loop, so the backlog is empty after two turns without one. The time is
 * limited, because load balancers that ignore readiness keep sending.
 */
async function drainAcceptBacklog(server: Server): Promise<void> {
  let accepted = 0
  const count = (): void => {
    accepted += 1
  }
  server.on('connection', count)
  const deadline = performance.now() + maxAcceptMs
  for (let seen = -1; seen !== accepted && performance.now() < deadline; ) {
    seen = accepted
    await nextTurn()
    await nextTurn()
  }
  server.off('connection', count)
}

/**
 * Closes a listener: accepts no new connection, completes pending requests, and closes idle connections. After
 * `timeoutMs` the remaining ones are destroyed. Resolves with the number of destroyed connections.
 */
export async function closeListener(server: Server, timeoutMs: number): Promise<number> {
  await drainAcceptBacklog(server)
  return new Promise((resolve) => {
    let destroyed = 0
    const sweep = setInterval(() => server.closeIdleConnections(), idleSweepMs)
    const timer = setTimeout(() => {
      server.getConnections((_error, count) => {
        destroyed = count
        server.closeAllConnections()
      })
    }, timeoutMs)
    // The close method of http.Server would also end connections whose first request has arrived but has not been read
    // yet.
    NetServer.prototype.close.call(server, () => {
      clearInterval(sweep)
      clearTimeout(timer)
      resolve(destroyed)
    })
  })
}
