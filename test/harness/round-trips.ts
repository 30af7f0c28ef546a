import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface RoundTripCounter {
  port: number
  /** Requests to the server so far. Requests that a client sends without waiting for a reply count as one. */
  readonly roundTrips: number
  /** Statements so far, with BEGIN and COMMIT. Only for PostgreSQL. */
  readonly statements: number
  /** Bytes in both directions so far. */
  readonly bytes: number
  close(): Promise<void>
}

/**
 * Counts Query and Execute messages of one connection (PostgreSQL documentation, "Message Formats"). The first message
 * has no type.
 */
function createStatementCounter(): (chunk: Buffer) => number {
  let rest = Buffer.alloc(0)
  let typeLength = 0
  return (chunk) => {
    rest = Buffer.concat([rest, chunk])
    let statements = 0
    while (rest.length >= typeLength + 4) {
      const length = typeLength + rest.readInt32BE(typeLength)
      if (rest.length < length) break
      if (typeLength === 1 && 'QE'.includes(String.fromCharCode(rest[0] ?? 0))) statements += 1
      rest = rest.subarray(length)
      typeLength = 1
    }
    return statements
  }
}

/** Starts a TCP proxy that counts how often its clients wait for the server. */
export async function startRoundTripCounter(target: number, isPostgres = false): Promise<RoundTripCounter> {
  let roundTrips = 0
  let bytes = 0
  let statements = 0
  const clients = new Set<Socket>()
  const proxy = createServer((client) => {
    const server = connect(target, '127.0.0.1')
    clients.add(client)
    let isWaiting = false
    const statementsIn = createStatementCounter()
    client.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (isPostgres) statements += statementsIn(chunk)
      if (!isWaiting) roundTrips += 1
      isWaiting = true
      server.write(chunk)
    })
    server.on('data', (chunk) => {
      bytes += chunk.length
      isWaiting = false
      client.write(chunk)
    })
    client.on('error', () => undefined).on('close', () => clients.delete(client) && server.destroy())
    server.on('error', () => undefined).on('close', () => client.destroy())
    client.setNoDelay(true)
    server.setNoDelay(true)
  })
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  return {
    port: (proxy.address() as AddressInfo).port,
    get roundTrips() {
      return roundTrips
    },
    get statements() {
      return statements
    },
    get bytes() {
      return bytes
    },
    close: async () => {
      for (const client of clients) client.destroy()
      await new Promise((resolve) => proxy.close(resolve))
    },
  }
}
