import { connect } from 'node:net'

export interface RawAnswer {
  /** Everything that came back until the connection closed or fell silent. */
  text: string
  status: number | null
  /** Number of responses. One request must never get two. */
  responses: number
  closed: boolean
}

/** Polls per silence. A stalled process counts as one poll, so a slow gateway does not look silent. */
const looks = 10

/** Sends bytes as they are, where HTTP libraries are too polite, and reads until the end or `silenceMs` of silence. */
export const sendRaw = (baseUrl: string, bytes: string | Uint8Array, silenceMs = 500): Promise<RawAnswer> =>
  new Promise((resolve) => {
    const { hostname, port } = new URL(baseUrl)
    const socket = connect(Number(port), hostname, () => socket.write(bytes))
    let text = ''
    let closed = false
    const done = () => {
      clearTimeout(timer)
      socket.destroy()
      // Also right behind a body, which ends in no line break.
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
