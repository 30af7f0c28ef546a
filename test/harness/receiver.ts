import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { Webhook } from 'standardwebhooks'

/** A request that a receiver of webhooks got. */
export interface Received {
  id: string
  signature: string
  /** The event, or undefined if no known secret signs the request. */
  event: { id: string; type: string; subject: string; data: unknown } | undefined
}

/** Listens on loopback. Tests change `respond`, `secrets` and `aheadMs`. */
export async function startReceiver(port = 0) {
  const receiver = {
    url: '',
    secrets: [] as string[],
    /** How far its clock is ahead. Signatures of another time are invalid. */
    aheadMs: 0,
    received: [] as Received[],
    respond: (_request: IncomingMessage, response: ServerResponse): void => {
      response.end('thanks')
    },
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  const verify = (body: string, headers: Record<string, string>): Received['event'] => {
    const { now } = Date
    Date.now = () => now() + receiver.aheadMs
    try {
      for (const secret of receiver.secrets)
        try {
          return new Webhook(secret).verify(body, headers) as Received['event']
        } catch {
          // Another secret may have signed it.
        }
      return undefined
    } finally {
      Date.now = now
    }
  }
  const server = createServer(async (request, response) => {
    const body = await text(request)
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
    const event = verify(body, headers)
    receiver.received.push({ id: headers['webhook-id'] ?? '', signature: headers['webhook-signature'] ?? '', event })
    receiver.respond(request, response)
  })
  await once(server.listen(port, '127.0.0.1'), 'listening')
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`
  return receiver
}

export type Receiver = Awaited<ReturnType<typeof startReceiver>>
