import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** An address that leads elsewhere when it is told to, as a failover moves one. */
export interface Relay {
  port: number
  /** New connections go there; those that are there stay where they are. */
  leadTo(port: number): void
  /** Breaks every connection. */
  cut(): void
  close(): Promise<void>
}

export const startRelay = async (target: number): Promise<Relay> => {
  let to = target
  const clients = new Set<Socket>()
  const relay = createServer((client) => {
    const server = connect(to, '127.0.0.1')
    clients.add(client)
    client.on('error', () => undefined).on('close', () => clients.delete(client) && server.destroy())
    server.on('error', () => undefined).on('close', () => client.destroy())
    client.pipe(server).pipe(client)
  })
  await once(relay.listen(0, '127.0.0.1'), 'listening')
  const cut = () => {
    for (const client of clients) client.destroy()
  }
  return {
    port: (relay.address() as AddressInfo).port,
    leadTo: (port) => {
      to = port
    },
    cut,
    close: async () => {
      cut()
      await new Promise((resolve) => relay.close(resolve))
    },
  }
}
