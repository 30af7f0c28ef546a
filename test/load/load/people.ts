import { randomUUID } from 'node:crypto'
import { createClient } from '../../../src/client/index.ts'
import { codeIn } from '../../harness/sign-in.ts'
import type { Gateway } from '../rig/gateway.ts'

export const password = 'Portico-demo-2026'
export const chain = '/web/v1/consumer'

/** With the values that an edge and a browser send. */
export function perimeter(client = 'bench-client', ip = '203.0.113.7'): Record<string, string> {
  return {
    'x-portal-access-code': 'consumer-dev',
    'x-request-id': randomUUID(),
    'x-client-hash': client,
    'x-forwarded-proto': 'https',
    'cf-connecting-ip': ip,
    'cf-ray': '8f2a1b3c4d5e6f70-FRA',
    'cf-ipcountry': 'DE',
    'x-locale': 'en',
    'content-type': 'application/json',
    'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0 Safari/537.36',
  }
}

/** Reads the development outbox. */
async function mailedCode(gateway: Gateway, email: string): Promise<string> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const mails: { to: string; text: string }[] = JSON.parse(
      await (await fetch(`${gateway.operationsUrl}/mail.json`)).text(),
    )
    const found = mails.find(({ to, text }) => to === email && /\b\d{6}\b/.test(text))
    if (found) return codeIn(found.text)
  }
  throw new Error(`no mail to ${email}`)
}

export async function signIn(gateway: Gateway, email = 'owner@demo.test'): Promise<Record<string, string>> {
  const headers = perimeter()
  const client = createClient({
    baseUrl: gateway.url,
    portal: 'CONSUMER',
    accessCode: headers['x-portal-access-code'] ?? '',
    clientHash: headers['x-client-hash'] ?? '',
    edgeHeaders: { clientIp: '203.0.113.7', country: 'DE' },
  })
  await client.signIn({ email, password, code: () => mailedCode(gateway, email) })
  const tokens = await client.session.fresh()
  if (!tokens) throw new Error(`${email} is not signed in`)
  return { ...headers, authorization: `Bearer ${tokens.accessToken}` }
}
