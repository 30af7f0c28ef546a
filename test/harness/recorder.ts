import { once } from 'node:events'
import { createServer } from 'node:http'

/** Responds 200 below `/internal`, otherwise RESOURCE.NOT_FOUND. */
export interface Recorder {
  url: string
  /** `METHOD path`, oldest first. */
  requests: string[]
  close(): Promise<void>
}

const refusal = JSON.stringify({ success: false, code: 'RESOURCE.NOT_FOUND', message: '', data: null })

export async function startRecorder(): Promise<Recorder> {
  const requests: string[] = []
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`)
    request.resume()
    const isInternal = request.url?.startsWith('/internal') ?? false
    response.writeHead(isInternal ? 200 : 404, { 'content-type': 'application/json' })
    response.end(isInternal ? '{"users":["internal"]}' : refusal)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('no address')
  return {
    url: `http://127.0.0.1:${address.port}`,
    requests,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
