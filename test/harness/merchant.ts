import { hash } from 'node:crypto'
import type { PortalConfiguration } from '../../src/config/index.ts'
import type { Credentials } from '../../src/testing/http.ts'
import { type Call, requiredHeaders } from './http.ts'
import { merchant, merchantCode } from './merchant-portal.ts'
import type { Portico } from './portico.ts'
import type { WholeSettings } from './settings.ts'
import { codeIn, type Session, signInOnly } from './sign-in.ts'

const password = 'Portico-demo-2026'
const chain = '/web/v1/merchant'

/** Declares a third portal with the edge and the sign-in rules of CONSUMER. */
export function addMerchant(settings: WholeSettings, own: Partial<PortalConfiguration> = {}): void {
  settings.portals = {
    ...settings.portals,
    MERCHANT: {
      ...settings.portals.CONSUMER,
      ...{ prefix: merchant.prefix, code: 10010111, name: 'Merchant portal', domains: 'all' as const },
      ...{ accessCodes: [hash('sha256', merchantCode)], app: null, hosts: [] },
      ...own,
    },
  }
}

/** Sends a request with the access code of the portal. */
export function callAsMerchant(
  portico: Pick<Portico, 'call'>,
  method: string,
  path: string,
  { headers, ...call }: Call = {},
) {
  return portico.call(method, path, { ...call, headers: { 'x-portal-access-code': merchantCode, ...headers } })
}

/** Registers an account of the portal, with its workspace. */
export async function registerMerchant(portico: Portico, email: string): Promise<void> {
  const post = async (path: string, body: object) => {
    const answer = await callAsMerchant(portico, 'POST', `${chain}${path}`, { body })
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.text}`)
    return answer.body.data
  }
  const { sessionId } = await post('/auth/register/initiate', { email, turnstileToken: '' })
  const code = codeIn((await portico.mailTo(email, 'registration-code')).text)
  await post('/auth/register/verify-email', { sessionId, code })
  const { passwordInitToken } = await post('/auth/register/complete', { sessionId, accountName: 'Merchant' })
  await post('/auth/password/init', { token: passwordInitToken, newPassword: password })
}

export async function signInMerchant(portico: Portico, email: string): Promise<Session & Credentials> {
  const headers = { 'x-portal-access-code': merchantCode }
  const session = await signInOnly(portico, email, headers, password, 'merchant')
  return { ...session, clientHash: requiredHeaders()['x-client-hash'] ?? '' }
}
