import { createServer } from 'node:http'
import { Pool } from 'undici'

/* undici's `dispatch` without checks. */
const pool = new Pool(process.env.UPSTREAM ?? '', { connections: 64, pipelining: 1 })

createServer((request, response) => {
  const { method = 'GET', url: path = '/' } = request
  const { host: _host, connection: _connection, ...headers } = request.headers
  const body = method === 'GET' ? null : request
  pool.dispatch(
    { method, path, headers, body },
    {
      onRequestStart: () => undefined,
      onResponseStart: (_controller, status, { connection: _other, ...fields }) => {
        response.writeHead(status, fields)
      },
      onResponseData: (controller, chunk) => {
        // A disconnected client emits no `drain` event, so the pool would lose a paused connection.
        if (response.write(chunk) || response.destroyed) return
        controller.pause()
        response.once('drain', () => controller.resume())
      },
      onResponseEnd: () => void response.end(),
      onResponseError: (_controller, error) => {
        if (response.headersSent) response.destroy(error)
        else response.writeHead(502).end()
      },
    },
  )
}).listen(Number(process.env.PORT), '127.0.0.1')
