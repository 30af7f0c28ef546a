/*
 * A service that sends the notifications of a workspace as server-sent events, for Node 20 or newer. Portico authenticates
 * the client and passes the stream through (docs/guides/pass-through.md).
 *
 *   PORTICO_CONFIG=examples/notifications/portico.yaml npm start
 *   PORT=8082 PORTICO_JWKS=http://127.0.0.1:9090/.well-known/jwks.json node examples/notifications/service.mjs
 *
 * Your own back end publishes on the same port, which belongs in a private network:
 *
 *   curl http://127.0.0.1:8082/publish --json '{"workspace":"<id>","text":"The transfer has arrived."}'
 */
import { createServer } from 'node:http'
import { createRemoteJWKSet, jwtVerify } from 'jose'

// The maximum age of the keys is the time for which a revoked key is accepted.
const keys = createRemoteJWKSet(new URL(process.env.PORTICO_JWKS), { cacheMaxAge: 30_000 })
const expected = {
  typ: 'portico-call+jwt',
  algorithms: ['EdDSA'],
  issuer: 'portico',
  audience: 'notifications-service',
  clockTolerance: 5,
}

/** The last notifications, which a client that reconnects has missed. */
const recent = []
const maxRecent = 1_000
const maxWaitingBytes = 65_536
/** The open streams with the workspace of each. */
const streams = new Map()
let lastId = 0

const toEvent = ({ id, text }) => `id: ${id}\ndata: ${JSON.stringify({ text })}\n\n`

const publish = async (request, response) => {
  let body = ''
  for await (const chunk of request.setEncoding('utf8')) body += chunk
  const { workspace, text } = JSON.parse(body)
  const notification = { id: ++lastId, workspace, text }
  recent.push(notification)
  if (recent.length > maxRecent) recent.shift()
  for (const [stream, watched] of streams) if (watched === workspace) stream.write(toEvent(notification))
  response.writeHead(204).end()
}

const watch = async (request, response) => {
  const token = request.headers.authorization?.replace(/^Bearer /, '') ?? ''
  const verified = await jwtVerify(token, keys, expected).catch(({ message }) => console.error(message))
  // Only Portico has a call assertion. Without one, the deployment is wrong.
  if (!verified) return response.writeHead(401).end()
  const { workspace } = verified.payload
  const after = Number(request.headers['last-event-id'] ?? lastId)
  response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': open\n\n')
  for (const each of recent) if (each.workspace === workspace.id && each.id > after) response.write(toEvent(each))
  streams.set(response, workspace.id)
  response.on('close', () => streams.delete(response))
}

// A comment keeps an idle stream open. A client that is too slow reconnects and continues after its last event.
setInterval(() => {
  for (const stream of streams.keys())
    if (stream.writableLength > maxWaitingBytes) stream.destroy()
    else stream.write(': ping\n\n')
}, 15_000)

createServer((request, response) => {
  const serve = request.method === 'POST' && request.url === '/publish' ? publish : watch
  serve(request, response).catch((error) => {
    console.error(error)
    response.destroy()
  })
}).listen(Number(process.env.PORT ?? 8082), '127.0.0.1')
