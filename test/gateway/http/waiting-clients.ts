import { once } from 'node:events'
import { connect } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'

export interface WaitingClients {
  port: number
  clients: number
  /** Index 0 counts the connections of the operating system. */
  created: Int32Array
}

async function requestOnce({ port, created }: WaitingClients): Promise<string> {
  const socket = connect(port, '127.0.0.1').setEncoding('utf8')
  try {
    await once(socket, 'connect')
    Atomics.add(created, 0, 1)
    Atomics.notify(created, 0)
    socket.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    return (await socket.toArray()).join('')
  } catch (error) {
    return error instanceof Error ? error.message : 'failed'
  }
}

/** Clients connect while the server's thread accepts no connection. */
const input: WaitingClients = workerData
parentPort?.postMessage(await Promise.all(Array.from({ length: input.clients }, () => requestOnce(input))))
