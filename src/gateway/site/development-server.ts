import type { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { createProxyMiddleware, type Plugin } from 'http-proxy-middleware'
import { headers } from '../../contract/headers.ts'
import { errorCode } from '../../kernel/index.ts'

/** Relays pages and WebSockets to the server of a bundler. */
export interface DevelopmentServer {
  relay(request: IncomingMessage, response: ServerResponse): void
  relaySocket(request: IncomingMessage, socket: Socket, head: Buffer): void
  /** Closes open sockets. The HTTP server closes requests. */
  close(): void
}

const { portalAccessCode, clientHash, workspaceId, channelSession, shortChannelSession } = headers

/** A development server runs many dependencies, which must not see the caller's credentials. */
const withheldHeaders = [
  'cookie',
  'authorization',
  ...[portalAccessCode, clientHash, workspaceId, channelSession, shortChannelSession].map(({ field }) => field),
]

export function createDevelopmentServer(url: string, setting: string): DevelopmentServer {
  const sockets = new Set<Socket>()
  const proxy = createProxyMiddleware<IncomingMessage, ServerResponse>({
    target: url,
    // Bundlers refuse unknown hosts.
    changeOrigin: true,
    xfwd: false,
    ejectPlugins: true,
    plugins: [reportUnreachable(url, setting), withholdCookies, closeTogether],
  })
  return {
    relay: (request, response) => {
      withholdCredentials(request)
      void proxy(request, response)
    },
    relaySocket: (request, socket, head) => {
      withholdCredentials(request)
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
      proxy.upgrade(request, socket, head)
    },
    close: () => {
      for (const socket of sockets) socket.destroy()
    },
  }
}

function withholdCredentials(request: IncomingMessage): void {
  for (const name of withheldHeaders) delete request.headers[name]
}

/** One of them could replace the session cookie, and the server would not get it back. */
const withholdCookies: Plugin<IncomingMessage, ServerResponse> = (server) => {
  const withhold = ({ headers }: IncomingMessage): void => {
    delete headers['set-cookie']
  }
  server.on('proxyRes', withhold)
  server.on('proxyReqWs', (outgoing) => outgoing.once('upgrade', withhold).once('response', withhold))
}

/** http-proxy-middleware would keep the server's side of a WebSocket whose client has disconnected. */
const closeTogether: Plugin<IncomingMessage, ServerResponse> = (server) => {
  server.on('proxyReqWs', (outgoing, _request, client) => {
    client.once('close', () => outgoing.destroy())
    outgoing.on('upgrade', (_response, upstream) => client.once('close', () => upstream.destroy()))
  })
}

/** http-proxy-middleware's own page does not name the URL. */
function reportUnreachable(url: string, setting: string): Plugin<IncomingMessage, ServerResponse> {
  return (server) => {
    server.on('error', (error, _request, target) => {
      if (target === undefined || target instanceof Socket || target.headersSent) return void target?.destroy()
      target.writeHead(502, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' })
      target.end(
        `The front end at ${url} is not reachable (${errorCode(error) ?? 'no response'}).\n` +
          `Start its development server, for example with \`npm run dev\`, or correct ${setting}.\n`,
      )
    })
  }
}
