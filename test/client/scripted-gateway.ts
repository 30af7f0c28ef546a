import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

interface Seen {
  method: string
  path: string
  headers: IncomingMessage['headers']
  /** Text if the body is not JSON. */
  body: unknown
}

/** The gateway repeats the last step of a list. */
export type Step = (seen: Seen, response: ServerResponse) => Promise<void> | void

function parse(text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text)
  } catch {
    return text
  }
}

function write(response: ServerResponse, status: number, body: object, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers })
  response.end(JSON.stringify({ version: '2.0.0', timestamp: Date.now(), ...body }))
}

export function ok(data: unknown): Step {
  return (_, response) => write(response, 200, { success: true, code: '2000', message: 'Success', data })
}

export function refuse(status: number, code: string, headers: Record<string, string> = {}): Step {
  return (_, response) =>
    write(response, status, { success: false, code, message: `refused: ${code}`, data: null }, headers)
}

export const hangUp: Step = (_, response) => {
  response.destroy()
}

/** Follows a step or a list of steps for each `METHOD path`, and records the requests. */
export async function scriptedGateway(script: Record<string, Step | Step[]>) {
  const seen: Seen[] = []
  const served = new Map<string, number>()
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const path = (request.url ?? '').split('?', 1)[0] ?? ''
    const { method = '', headers } = request
    const one = { method, path: request.url ?? '', headers, body: parse(Buffer.concat(chunks).toString()) }
    seen.push(one)
    const name = `${method} ${path}`
    const place = served.get(name) ?? 0
    served.set(name, place + 1)
    const steps = [script[name] ?? refuse(404, 'ROUTE.NOT_FOUND')].flat()
    await (steps[place] ?? steps.at(-1))?.(one, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    seen,
    to: (end: string) => seen.filter(({ path }) => (path.split('?', 1)[0] ?? '').endsWith(end)),
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export type ScriptedGateway = Awaited<ReturnType<typeof scriptedGateway>>
