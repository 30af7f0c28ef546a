import { type Client, type ClientFrame, type ClientOptions, createClient } from '../../src/client/index.ts'
import type { Portal } from '../../src/kernel/index.ts'
import type { Portico } from './portico.ts'
import { recordSealed } from './recording/observe.ts'
import { codeIn } from './sign-in.ts'

const accessCodes: Record<Portal, string> = { CONSUMER: 'consumer-dev', SYSTEM: 'system-dev' }
const password = 'Portico-demo-2026'

/** The typed client of a running Portico, as a browser behind the edge; what it sends and receives is recorded. */
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
    ...options,
    onExchange: (exchange) => {
      recordSealed(exchange)
      options.onExchange?.(exchange)
    },
  })

/** Signs a seeded account in by the code that is mailed to it. */
export const signInAs = async (portico: Portico, client: ClientFrame, email: string): Promise<void> => {
  await client.signIn({ email, password, code: async () => codeIn((await portico.mailTo(email, 'login-code')).text) })
}
