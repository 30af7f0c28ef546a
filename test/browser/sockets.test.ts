import { once } from 'node:events'
import { connect, createServer, type Server } from 'node:net'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../src/seed/development.ts'
import { requiredHeaders } from '../harness/http.ts'
import { needs } from '../harness/needs.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { freePort } from '../harness/postgres.ts'
import { upstreamAt } from '../harness/settings.ts'
import { codeIn, signIn } from '../harness/sign-in.ts'
import { type SocketService, startSocketService } from '../harness/socket-service.ts'
import { bundleClient, chromiumPath, hostApp, launchChromium, openPage } from './chromium.ts'

declare global {
  var signedInCode: () => Promise<string>
}

const edgeNames = ['x-forwarded-proto', 'cf-connecting-ip', 'cf-ray', 'cf-ipcountry']

/** The edge adds its headers to handshakes, which cannot have them. The client adds them to other requests. */
async function startEdge(port: number, target: () => string): Promise<Server> {
  const headers = Object.entries(requiredHeaders()).filter(([name]) => edgeNames.includes(name))
  const lines = headers.map(([name, value]) => `\r\n${name}: ${value}`).join('')
  const edge = createServer((client) => {
    const gateway = connect(Number(new URL(target()).port), '127.0.0.1')
    client.on('error', () => gateway.destroy()).on('close', () => gateway.destroy())
    gateway.on('error', () => client.destroy())
    client.once('data', (chunk) => {
      const text = chunk.toString('latin1')
      gateway.write(/upgrade: websocket/i.test(text) ? text.replace(/ HTTP\/1.1/, `$&${lines}`) : text, 'latin1')
      client.pipe(gateway).pipe(client)
    })
  })
  await once(edge.listen(port, '127.0.0.1'), 'listening')
  return edge
}

describe('a WebSocket in Chromium', needs(chromiumPath, 'Chromium is not installed'), () => {
  let browser: Browser
  let service: SocketService
  let portico: Portico
  let edge: Server
  let origin: string

  beforeAll(async () => {
    const port = await freePort()
    origin = `http://127.0.0.1:${port}`
    service = await startSocketService()
    portico = await startPortico({
      adjust: (settings) => {
        settings.operations = ['test/harness/ticker.yaml']
        settings.backends = { ...settings.backends, ticker: upstreamAt(service.url, { audience: 'ticker' }) }
        settings.portals.CONSUMER.origins = [origin]
      },
    })
    edge = await startEdge(port, () => portico.url)
    browser = await launchChromium()
  })
  afterAll(async () => {
    await browser?.close()
    edge?.close()
    await portico?.stop()
    await service?.close()
  })

  test('client.socketProtocols authenticates the handshake; a logout closes the socket with 1008', async () => {
    const session = await signIn(portico, 'owner@demo.test', { 'x-client-hash': 'browser' })
    // Chromium asks before such a page connects to a local address.
    const context = await browser.newContext({ permissions: ['local-network-access'] })
    const { page, complaints } = await openPage(context, await hostApp(context, origin, await bundleClient()))
    const opened = await page.evaluate(
      async ({ tokens, workspaceId }) => {
        const client = globalThis.portico.createClient({
          baseUrl: location.origin,
          portal: 'CONSUMER',
          accessCode: 'consumer-dev',
          clientHash: 'browser',
        })
        await client.session.adopt(tokens)
        const protocols = await client.socketProtocols({ workspaceId })
        const socket = new WebSocket(`ws://${location.host}/web/v1/consumer/ticker`, protocols)
        const closed = new Promise<CloseEvent>((resolve) => socket.addEventListener('close', resolve))
        Object.assign(globalThis, {
          socketClosed: closed.then(({ code, reason, wasClean }) => ({ code, reason, wasClean })),
        })
        await new Promise((resolve, reject) => {
          socket.addEventListener('open', resolve)
          socket.addEventListener('error', () => reject(new Error('not opened')))
        })
        const message = new Promise<string>((resolve) => {
          socket.addEventListener('message', ({ data }) => resolve(data))
        })
        socket.send('hello')
        return { protocol: socket.protocol, message: await message }
      },
      { tokens: { ...session, expiresIn: 900 }, workspaceId: developmentIds.workspace },
    )
    expect(opened).toEqual({ protocol: 'portico', message: 'hello' })
    const logout = { token: session.accessToken, headers: { 'x-client-hash': 'browser' }, body: {} }
    expect((await portico.call('POST', '/web/v1/consumer/auth/logout', logout)).status).toBe(200)
    expect(await page.evaluate('socketClosed')).toMatchObject({ code: 1008, reason: 'revoked' })
    expect(complaints).toEqual([])
    await context.close()
  })

  test('in cookie mode, the cookie authenticates the handshake; a sign-out closes the socket with 1008', async () => {
    const context = await browser.newContext({ permissions: ['local-network-access'] })
    await context.exposeFunction('signedInCode', async () =>
      codeIn((await portico.mailTo('owner@demo.test', 'login-code')).text),
    )
    const { page } = await openPage(context, await hostApp(context, origin, await bundleClient()))
    const seen = await page.evaluate(async (workspaceId) => {
      const client = globalThis.portico.createClient({
        baseUrl: location.origin,
        portal: 'CONSUMER',
        accessCode: 'consumer-dev',
        edgeHeaders: true,
        session: 'cookie',
      })
      const code = () => globalThis.signedInCode()
      await client.signIn({ email: 'owner@demo.test', password: 'Portico-demo-2026', code })
      const socket = new WebSocket(
        `ws://${location.host}/web/v1/consumer/ticker`,
        await client.socketProtocols({ workspaceId }),
      )
      const closed = new Promise<number>((resolve) => socket.addEventListener('close', (event) => resolve(event.code)))
      await new Promise((resolve) => socket.addEventListener('open', resolve))
      const message = new Promise<string>((resolve) => {
        socket.addEventListener('message', ({ data }) => resolve(data))
      })
      socket.send('hello')
      const received = await message
      await client.signOut()
      return { protocol: socket.protocol, received, closed: await closed }
    }, developmentIds.workspace)
    expect(seen).toEqual({ protocol: 'portico', received: 'hello', closed: 1008 })
    await context.close()
  })
})
