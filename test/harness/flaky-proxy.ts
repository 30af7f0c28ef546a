import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface FlakyProxy {
  port: number
  /**
   * Closes all connections, and the next `times` ones as soon as the server sends `text`. Resolves after the last one.
   */
  cutAfter(text: string, times: number): Promise<void>
  close(): Promise<void>
}

export async function startFlakyProxy(target: number): Promise<FlakyProxy> {
  let fatal = { text: '', left: 0, resolve: () => {} }
  const clients = new Set<Socket>()
  const proxy = createServer((client) => {
    const server = connect(target, '127.0.0.1')
    clients.add(client)
    client.on('error', () => undefined).on('close', () => clients.delete(client) && server.destroy())
    server.on('error', () => undefined).on('close', () => client.destroy())
    client.pipe(server)
    server.on('data', (bytes) => {
      if (fatal.left === 0 || !bytes.includes(fatal.text)) return void client.write(bytes)
      fatal.left -= 1
      client.end(bytes)
      if (fatal.left === 0) fatal.resolve()
    })
  })
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  return {
    port: (proxy.address() as AddressInfo).port,
    cutAfter: (text, times) =>
      new Promise((resolve) => {
        fatal = { text, left: times, resolve }
        for (const client of clients) client.destroy()
      }),
    close: async () => {
      for (const client of clients) client.destroy()
      await new Promise((resolve) => proxy.close(resolve))
    },
  }
}
