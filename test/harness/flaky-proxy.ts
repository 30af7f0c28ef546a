import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

export interface FlakyProxy {
  port: number
  /** Breaks every connection, and for so long each new one as soon as the server has said `text`; answers how many of those. */
  cutAfter(text: string, ms: number): Promise<number>
  close(): Promise<void>
}

/** A way to a server on this machine that breaks when it is told to. */
export const startFlakyProxy = async (target: number): Promise<FlakyProxy> => {
  let fatal: string | null = null
  let cuts = 0
  const clients = new Set<Socket>()
  const proxy = createServer((client) => {
    const server = connect(target, '127.0.0.1')
    clients.add(client)
    client.on('error', () => undefined).on('close', () => clients.delete(client) && server.destroy())
    server.on('error', () => undefined).on('close', () => client.destroy())
    client.pipe(server)
    server.on('data', (bytes) => {
      if (fatal === null || !bytes.includes(fatal)) return void client.write(bytes)
      cuts += 1
      client.end(bytes)
    })
  })
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  return {
    port: (proxy.address() as AddressInfo).port,
    cutAfter: async (text, ms) => {
      fatal = text
      for (const client of clients) client.destroy()
      await pause(ms)
      fatal = null
      return cuts
    },
    close: async () => {
      for (const client of clients) client.destroy()
      await new Promise((resolve) => proxy.close(resolve))
    },
  }
}
