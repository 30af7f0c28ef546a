import { connect } from 'node:net'

export interface RawAnswer {
  /** Until the connection closed or was silent for `silenceMs`. */
  text: string
  status: number | null
  /** Request smuggling would produce two. */
  responses: number
  closed: boolean
}

/** Timer ticks per `silenceMs`. A blocked event loop delays only one, so it does not count as silence. */
const looks = 10

/** HTTP libraries would refuse these bytes. */
export function sendRaw(baseUrl: string, bytes: string | Uint8Array, silenceMs = 500): Promise<RawAnswer> {
  return new Promise((resolve) => {
    const { hostname, port } = new URL(baseUrl)
    const socket = connect(Number(port), hostname, () => socket.write(bytes))
    let text = ''
    let closed = false
    const done = () => {
      clearTimeout(timer)
      socket.destroy()
      // A second status line can follow a body without a line break.
      const statuses = [...text.matchAll(/HTTP\/1\.[01] (\d{3}) /g)].map((match) => Number(match[1]))
      resolve({ text, status: statuses[0] ?? null, responses: statuses.length, closed })
    }
    let timer = setTimeout(done, 30_000)
    const rearm = (left = looks) => {
      clearTimeout(timer)
      timer = setTimeout(() => (left === 1 ? done() : rearm(left - 1)), silenceMs / looks)
    }
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      rearm()
    })
    socket.on('close', () => {
      closed = true
      done()
    })
    socket.on('error', () => undefined)
  })
}
