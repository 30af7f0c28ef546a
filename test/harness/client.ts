import { type Client, type ClientFrame, type ClientOptions, createClient } from '../../src/client/index.ts'
import type { Portal } from '../../src/kernel/index.ts'
import type { Portico } from './portico.ts'
import { recordSealed } from './recording/observe.ts'
import { codeIn } from './sign-in.ts'

const accessCodes: Record<Portal, string> = { CONSUMER: 'consumer-dev', SYSTEM: 'system-dev' }
const password = 'Portico-demo-2026'

/** Wraps fetch and records each exchange, so that `stop` checks the audit entries. */
const watchedFetch =
  (portico: Portico): typeof fetch =>
  async (input, init) => {
    const response = await fetch(input, init)
    const { pathname } = new URL(response.url)
    const headers = Object.fromEntries(new Headers(init?.headers))
    const { authorization, 'x-workspace-id': workspace } = headers
    const text = init?.method === 'POST' ? await response.clone().text() : ''
    const answer = { status: response.status, headers: response.headers, text, body: text && JSON.parse(text) }
    const call = { headers, ...(authorization && { token: authorization.slice('Bearer '.length) }) }
    portico.recordCall(init?.method ?? 'GET', pathname, answer, {
      ...call,
      body: init?.body,
      ...(workspace && { workspace }),
    })
    return response
  }

/** Creates a typed client that behaves like a browser behind the edge. Its requests and responses are recorded. */
export const clientOf = <const P extends Portal>(
  portico: Portico,
  portal: P,
  options: Partial<ClientOptions<P>> = {},
): Client<P> =>
  createClient({
    baseUrl: portico.url,
    portal,
    accessCode: accessCodes[portal],
    edgeHeaders: { clientIp: '203.0.113.7', country: 'DE' },
    fetch: watchedFetch(portico),
    ...options,
    onExchange: (exchange) => {
      recordSealed(exchange)
      options.onExchange?.(exchange)
    },
  })

/** Signs in a seeded account with the mailed code. */
export const signInAs = async (portico: Portico, client: ClientFrame, email: string): Promise<void> => {
  await client.signIn({ email, password, code: async () => codeIn((await portico.mailTo(email, 'login-code')).text) })
}
