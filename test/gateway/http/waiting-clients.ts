import { once } from 'node:events'
import { connect } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'

export interface WaitingClients {
  port: number
  clients: number
  /** Index 0 is the number of connections that the operating system has made. */
  created: Int32Array
}

/** Returns everything that is received on a connection until it ends, or its error. */
const requestOnce = async ({ port, created }: WaitingClients): Promise<string> => {
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

/** A thread of clients that connect while the server's thread accepts no connection. */
const input: WaitingClients = workerData
parentPort?.postMessage(await Promise.all(Array.from({ length: input.clients }, () => requestOnce(input))))
