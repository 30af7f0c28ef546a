import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A TCP relay that can simulate a failover. */
export interface Relay {
  port: number
  /** Existing connections are unaffected. */
  leadTo(port: number): void
  /** Keeps connections open, like a network that drops packets. */
  silence(): void
  cut(): void
  close(): Promise<void>
}

export async function startRelay(target: number): Promise<Relay> {
  let to = target
  const clients = new Map<Socket, Socket>()
  const relay = createServer((client) => {
    const server = connect(to, '127.0.0.1')
    clients.set(client, server)
    client.on('error', () => undefined).on('close', () => clients.delete(client) && server.destroy())
    server.on('error', () => undefined).on('close', () => client.destroy())
    client.pipe(server).pipe(client)
  })
  await once(relay.listen(0, '127.0.0.1'), 'listening')
  const cut = () => {
    for (const client of clients.keys()) client.destroy()
  }
  return {
    port: (relay.address() as AddressInfo).port,
    leadTo: (port) => {
      to = port
    },
    silence: () => {
      for (const [client, server] of clients) {
        client.unpipe(server).pause()
        server.unpipe(client).pause()
      }
    },
    cut,
    close: async () => {
      cut()
      await new Promise((resolve) => relay.close(resolve))
    },
  }
}
