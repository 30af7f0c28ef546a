import { once } from 'node:events'
import { createServer } from 'node:http'
import type { JSONWebKeySet } from 'jose'

const path = '/.well-known/jwks.json'

export interface JwksServer {
  url: string
  /** Number of requests for the keys. */
  fetches(): number
  close(): Promise<void>
}

/** Serves the keys at the path where a gateway's operations listener serves them. Rejects if the port is in use. */
export async function serveJwks(jwks: JSONWebKeySet, host: string, port: number): Promise<JwksServer> {
  let fetches = 0
  const body = JSON.stringify(jwks)
  const server = createServer((request, response) => {
    if (request.url !== path) {
      response.writeHead(404).end()
      return
    }
    fetches += 1
    response.writeHead(200, { 'content-type': 'application/json' }).end(body)
  })
  server.listen(port, host)
  await once(server, 'listening')
  const address = server.address()
  const name = host.includes(':') ? `[${host}]` : host
  return {
    url: `http://${name}:${typeof address === 'object' && address ? address.port : port}${path}`,
    fetches: () => fetches,
    close: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
