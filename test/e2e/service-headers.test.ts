import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { own } from '../../src/contract/policies.ts'
import { upstreamAt } from '../harness/settings.ts'
import { type PassThroughWorld, paths, startPassThroughWorld } from './pass-through-world.ts'

const download = '/web/v1/consumer/files/01990000-0000-7000-8000-00000000f11e/download'
const connections = 2

let world: PassThroughWorld
beforeAll(async () => {
  world = await startPassThroughWorld((settings, url) => {
    const place = { connections, streamTimeoutMs: 20_000 }
    settings.backends.feed = upstreamAt(`${url}/base`, { ...place, audience: 'feed' })
    settings.backends.files = upstreamAt(`${url}/base`, { ...place, audience: 'files' })
    settings.passThrough = [
      {
        ...upstreamAt(`${url}/app`, { ...place, audience: 'legacy' }),
        prefix: paths.legacy,
        methods: ['GET', 'POST'],
        policy: own,
        requestHeaders: ['content-disposition'],
        responseHeaders: ['x-owner'],
      },
    ]
  })
})
afterAll(() => world?.stop())

async function bytesOf(line: string, extra: (string | Buffer)[] = []): Promise<Buffer> {
  const { hostname, port } = new URL(world.portico.urls[0] ?? '')
  const socket = connect({ host: hostname, port: Number(port) })
  const headers = { ...world.headers(), host: 'x', connection: 'close' }
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  for (const part of [`${line} HTTP/1.1\r\n${head.join('')}`, ...extra, '\r\n']) socket.write(part)
  return buffer(socket)
}

const invoice = 'attachment; filename="发票.pdf"'
/** Node writes headers in Latin-1, unless a body that is a string follows. */
function raw(text: string): string {
  return Buffer.from(text).toString('latin1')
}
const body = Buffer.from('%PDF')
const framings: Record<string, (response: ServerResponse, headers: Record<string, string>) => void> = {
  'Content-Length': (response, headers) => {
    response.writeHead(200, { ...headers, 'content-length': String(body.length) }).end(body)
  },
  'Transfer-Encoding: chunked': (response, headers) => {
    response.writeHead(200, headers).write(body)
    response.end()
  },
}
const targets = [
  ['feed.report', paths.report],
  ['passThrough.legacy', `${paths.legacy}/invoice`],
  ['files.download', download],
] as const
const values = [
  ['UTF-8', Buffer.from(invoice)],
  ['Latin-1', Buffer.from('attachment; filename="é.pdf"', 'latin1')],
  [
    'Shift JIS',
    Buffer.concat([Buffer.from('attachment; filename="'), Buffer.from([0x90, 0xbf, 0x8b, 0x81]), Buffer.from('"')]),
  ],
] as const

describe('the headers of a service', () => {
  test.each(
    targets.flatMap(([operation, path]) =>
      Object.keys(framings).flatMap((framing) =>
        values.map(([name, value]) => [operation, framing, name, path, value] as const),
      ),
    ),
  )('%s 200: a file name is relayed byte for byte, %s, %s', async (_operation, framing, _name, path, value) => {
    const headers = { 'content-type': 'application/pdf', 'content-disposition': value.toString('latin1') }
    world.service.respond((_request, response) => framings[framing]?.(response, headers))
    const response = await bytesOf(`GET ${path}`)
    expect(response.toString('latin1')).toMatch(/^HTTP\/1\.1 200 /)
    expect(response.includes(Buffer.concat([Buffer.from('content-disposition: '), value, Buffer.from('\r\n')]))).toBe(
      true,
    )
    expect(response.includes(body)).toBe(true)
  })

  test.each(targets)('%s 200: such file names never occupy connections', async (_operation, path) => {
    world.service.respond((_request, response) => {
      framings['Content-Length']?.(response, { 'content-disposition': raw(invoice) })
    })
    for (let index = 0; index < 20 * connections; index++) await bytesOf(`GET ${path}`)
    expect((await world.open(path)).status).toBe(200)
  })

  test('passThrough.legacy: configured headers and redirects keep their bytes', async () => {
    world.service.respond((_request, response) => {
      const headers = { location: raw('/app/发票?a=é'), 'x-owner': raw('山田'), 'content-length': '0' }
      response.writeHead(302, headers).end()
    })
    const response = await bytesOf(`GET ${paths.legacy}/invoice`)
    expect(response.includes(Buffer.from('x-owner: 山田\r\n'))).toBe(true)
    expect(response.toString()).toContain(`location: ${paths.legacy}/%E5%8F%91%E7%A5%A8?a=%C3%A9\r\n`)
  })

  test('passThrough.legacy: a file name of the client reaches the service byte for byte', async () => {
    const received = Promise.withResolvers<string[]>()
    world.service.respond((request, response) => {
      received.resolve(request.rawHeaders)
      request.resume().on('end', () => response.end('done'))
    })
    const disposition = Buffer.from(`content-disposition: ${invoice}\r\n`)
    expect(String(await bytesOf(`POST ${paths.legacy}/x`, ['content-length: 0\r\n', disposition]))).toMatch(/ 200 /)
    expect(await received.promise).toContain(raw(invoice))
  })
})
