import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import type { Answer } from './http.ts'
import type { Portico } from './portico.ts'
import { codeIn, type Session } from './sign-in.ts'

export const goodPassword = 'violet-Anchor-Tundra-58'
export const otherPassword = 'lantern~Quarry~Meadow~71'

export function newEmail(): string {
  return `${randomUUID().slice(0, 8)}@people.test`
}

export interface Client {
  hash: string
  ip: string
  chain: string
  post(path: string, body?: object, token?: string, headers?: Record<string, string | null>): Promise<Answer>
  get(path: string, token?: string, headers?: Record<string, string | null>): Promise<Answer>
}

let clients = 0

export function client(portico: Portico, more: Partial<Pick<Client, 'hash' | 'ip' | 'chain'>> = {}): Client {
  clients += 1
  const hash = more.hash ?? `client-${randomUUID()}`
  const ip = more.ip ?? `198.18.${Math.floor(clients / 250) % 250}.${(clients % 250) + 1}`
  const chain = more.chain ?? '/web/v1/consumer'
  const call =
    (method: 'GET' | 'POST') =>
    (path: string, body: object | undefined, token: string | undefined, headers: Record<string, string | null> = {}) =>
      portico.call(method, path.startsWith('/web/') ? path : chain + path, {
        headers: { 'x-client-hash': hash, 'cf-connecting-ip': ip, ...headers },
        ...(body !== undefined && { body }),
        ...(token !== undefined && { token }),
      })
  return {
    hash,
    ip,
    chain,
    post: call('POST'),
    get: (path, token, headers) => call('GET')(path, undefined, token, headers),
  }
}

export function data({ status, text, body }: Answer) {
  if (status !== 200) throw new Error(`${status} ${text}`)
  return body.data
}

export function refusal({ status, body }: Answer): [number, string] {
  return [status, body.code]
}

/** The token is in the fragment. */
export function linkToken(text: string): string {
  const token = /#token=([\w-]+)/.exec(text)?.[1]
  if (!token) throw new Error('no link in the mail')
  return token
}

export async function register(portico: Portico, email = newEmail(), by = client(portico)) {
  const registered = await registerOnly(portico, email, by)
  const { passwordInitToken: token } = registered.account
  data(await by.post('/auth/password/init', { token, newPassword: goodPassword }))
  return registered
}

/** Without a password. */
export async function registerOnly(portico: Portico, email: string, by: Client) {
  const { sessionId } = data(await by.post('/auth/register/initiate', { email, turnstileToken: '' }))
  const { text } = await portico.mailTo(email, 'registration-code')
  data(await by.post('/auth/register/verify-email', { sessionId, code: codeIn(text) }))
  const account = data(await by.post('/auth/register/complete', { sessionId, accountName: 'Nora Newcomer' }))
  return { email, accountId: String(account.accountBizId), account }
}

/** Returns the mailed code. */
export async function begin(portico: Portico, by: Client, email: string, password = goodPassword) {
  const { sessionId, mfaMethods } = data(await by.post('/auth/login/initiate', { email, password }))
  data(await by.post('/auth/login/mfa/send', { sessionId, mfaMethod: 'EMAIL' }))
  const { text } = await portico.mailTo(email, 'login-code')
  return { sessionId: String(sessionId), code: codeIn(text), mfaMethods }
}

type SignedIn = Session & { isNewDevice: boolean }

/** Does not step up. */
export async function signInOnly(
  portico: Portico,
  by: Client,
  email: string,
  password = goodPassword,
): Promise<SignedIn> {
  const { sessionId, code } = await begin(portico, by, email, password)
  return data(await by.post('/auth/login/complete', { sessionId, mfaMethod: 'EMAIL', code }))
}

export async function stepUp(portico: Portico, by: Client, email: string, token: string): Promise<void> {
  data(await by.post('/security/step-up/send', { mfaMethod: 'EMAIL' }, token))
  const code = codeIn((await portico.mailTo(email, 'step-up-code')).text)
  data(await by.post('/security/step-up', { mfaMethod: 'EMAIL', code }, token))
}

export async function signInAs(...[portico, by, email, password]: Parameters<typeof signInOnly>): Promise<SignedIn> {
  const session = await signInOnly(portico, by, email, password)
  await stepUp(portico, by, email, session.accessToken)
  return session
}

/** By default with a step-up. */
export async function newcomer(portico: Portico, by = client(portico), enter = signInAs) {
  const { email, accountId } = await register(portico, newEmail(), by)
  const session = await enter(portico, by, email)
  return { email, accountId, by, session, token: session.accessToken }
}

export async function toldOf(portico: Portico, email: string, text: string): Promise<void> {
  const texts = async () =>
    (await portico.mailsTo(email))
      .filter(({ template }) => template === 'security-change' || template === 'factor-added')
      .map((mail) => mail.text)
  await expect.poll(texts).toContainEqual(expect.stringContaining(text))
}
