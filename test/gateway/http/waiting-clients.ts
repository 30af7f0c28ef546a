import { once } from 'node:events'
import { connect } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'

export interface WaitingClients {
  port: number
  clients: number
  /** How many connections the system has made, at 0. */
  made: Int32Array
}

/** What comes on a connection until it ends, an error in its place. */
const ask = async ({ port, made }: WaitingClients): Promise<string> => {
  const socket = connect(port, '127.0.0.1').setEncoding('utf8')
  try {
    await once(socket, 'connect')
    Atomics.add(made, 0, 1)
    Atomics.notify(made, 0)
    socket.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    return (await socket.toArray()).join('')
  } catch (error) {
    return error instanceof Error ? error.message : 'failed'
  }
}

/** A thread of clients whose connections are made while the thread of the server accepts none. */
const told: WaitingClients = workerData
parentPort?.postMessage(await Promise.all(Array.from({ length: told.clients }, () => ask(told))))
