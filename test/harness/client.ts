import { type Client, type ClientFrame, type ClientOptions, createClient } from '../../src/client/index.ts'
import type { FixedPortal } from '../../src/kernel/index.ts'
import type { Portico } from './portico.ts'
import { recordSealed } from './recording/observe.ts'
import { codeIn } from './sign-in.ts'

const accessCodes: Record<FixedPortal, string> = { CONSUMER: 'consumer-dev', SYSTEM: 'system-dev' }
const password = 'Portico-demo-2026'

/** Lets `stop` check the audit entries of each exchange. */
function watchedFetch(portico: Portico): typeof fetch {
  return async (input, init) => {
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
}

/** Behaves like a browser behind the edge, and records exchanges. */
export function clientOf<const P extends FixedPortal>(
  portico: Portico,
  portal: P,
  options: Partial<ClientOptions<P>> = {},
): Client<P> {
  return createClient({
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
}

/** Uses the mailed code, and steps up. */
export async function signInAs(
  portico: Portico,
  client: ClientFrame & Pick<Client<FixedPortal>, 'sendStepUpCode' | 'stepUp'>,
  email: string,
): Promise<void> {
  await client.signIn({ email, password, code: async () => codeIn((await portico.mailTo(email, 'login-code')).text) })
  await client.sendStepUpCode({ body: { mfaMethod: 'EMAIL' } })
  const code = codeIn((await portico.mailTo(email, 'step-up-code')).text)
  await client.stepUp({ body: { mfaMethod: 'EMAIL', code } })
}
