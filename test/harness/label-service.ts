import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { freePort } from './postgres.ts'

export interface SeenRequest {
  path: string
  requestId: string
  key: string | undefined
  length: string | undefined
  body: unknown
}

/** A service that does not deduplicate: each request takes effect. */
export interface LabelService {
  url: string
  seen: SeenRequest[]
  /** Replies to the next requests, with the number of the request. */
  reply(request: SeenRequest, response: ServerResponse, number: number): void
  close(): void
}

export function replyJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

export function refuse(response: ServerResponse, status: number, code: string): void {
  replyJson(response, status, { success: false, code, message: '', data: null })
}

/** The reply to a valid request. */
export const replyLabel: LabelService['reply'] = ({ body }, response, number) =>
  replyJson(response, 200, { number, note: Reflect.get(Object(body), 'note'), fullPan: '4242' })

export async function startLabelService(): Promise<LabelService> {
  const port = await freePort()
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body: unknown = JSON.parse((await text(request)) || 'null')
    const { url: path = '', headers } = request
    const { 'x-request-id': requestId = '', 'idempotency-key': key, 'content-length': length } = headers
    const seen = { path, requestId: String(requestId), key: key && String(key), length, body }
    service.seen.push(seen)
    service.reply(seen, response, service.seen.length)
  }
  const server = createServer((request, response) => void receive(request, response))
  const service: LabelService = {
    url: `http://127.0.0.1:${port}`,
    seen: [],
    reply: replyLabel,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return service
}
