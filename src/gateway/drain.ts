import type { Server } from 'node:http'

const sweepMs = 50

/**
 * Closes a listener: no new connection, the idle ones end at once, the busy ones with their answer; what is not done by
 * `timeoutMs` is cut off. Answers how many connections had to be.
 */
export const closeListener = (server: Server, timeoutMs: number): Promise<number> =>
  new Promise((resolve) => {
    let cut = 0
    const sweep = setInterval(() => server.closeIdleConnections(), sweepMs)
    const late = setTimeout(() => {
      server.getConnections((_error, count) => {
        cut = count
        server.closeAllConnections()
      })
    }, timeoutMs)
    server.close(() => {
      clearInterval(sweep)
      clearTimeout(late)
      resolve(cut)
    })
    server.closeIdleConnections()
  })
