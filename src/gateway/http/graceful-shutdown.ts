import type { Server } from 'node:http'
import { Server as NetServer } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'

const idleSweepMs = 50
const maxAcceptMs = 1_000

/**
 * Completes pending requests. Destroys the connections that remain after `timeoutMs`, and resolves with their number.
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
    // http.Server's close would also close connections whose first request has not been read yet.
    NetServer.prototype.close.call(server, () => {
      clearInterval(sweep)
      clearTimeout(timer)
      resolve(destroyed)
    })
  })
}

/**
 * Closing the listener earlier would reset connections in the accept backlog. Node accepts one connection per turn of
 * the event loop, so the backlog is empty after two turns without one. The wait is limited, because some load balancers
 * ignore readiness.
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
