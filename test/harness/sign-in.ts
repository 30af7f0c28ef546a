import { setTimeout as pause } from 'node:timers/promises'
import { type Call, send } from './http.ts'
import type { DevelopmentMail, Portico } from './portico.ts'

export interface Session {
  accessToken: string
  refreshToken: string
  sessionId: string
}

const developmentPassword = 'Portico-demo-2026'

export function codeIn(text: string): string {
  const code = /\b\d{6}\b/.exec(text)?.[0]
  if (!code) throw new Error('no code in the mail')
  return code
}

type Gateway = Pick<Portico, 'call' | 'mailTo'>

function portalOf(email: string): 'consumer' | 'system' {
  return /^(operator|checker)/.test(email) ? 'system' : 'consumer'
}

/** Throws unless the status is 200. */
async function post(portico: Gateway, path: string, call: Call) {
  const answer = await portico.call('POST', path, call)
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.text}`)
  return answer.body.data
}

/** Uses the mailed code. The default password is the one of seeded accounts. */
export async function signInOnly(
  portico: Gateway,
  email = 'owner@demo.test',
  headers: Record<string, string> = {},
  password = developmentPassword,
  portal: 'consumer' | 'system' | 'merchant' = portalOf(email),
): Promise<Session> {
  const step = (path: string, body: object) => post(portico, `/web/v1/${portal}/auth/login/${path}`, { body, headers })
  const { sessionId } = await step('initiate', { email, password })
  await step('mfa/send', { sessionId, mfaMethod: 'EMAIL' })
  const code = codeIn((await portico.mailTo(email, 'login-code')).text)
  return step('complete', { sessionId, mfaMethod: 'EMAIL', code })
}

export async function stepUp(
  portico: Gateway,
  token: string,
  email = 'owner@demo.test',
  headers: Record<string, string> = {},
  portal: 'consumer' | 'system' | 'merchant' = portalOf(email),
): Promise<void> {
  const step = (path: string, body: object) =>
    post(portico, `/web/v1/${portal}/security/step-up${path}`, { body, headers, token })
  await step('/send', { mfaMethod: 'EMAIL' })
  const code = codeIn((await portico.mailTo(email, 'step-up-code')).text)
  await step('', { mfaMethod: 'EMAIL', code })
}

/** Steps up with another mailed code. */
export async function signIn(
  ...[portico, email = 'owner@demo.test', headers = {}, password, portal]: Parameters<typeof signInOnly>
): Promise<Session> {
  const session = await signInOnly(portico, email, headers, password, portal)
  await stepUp(portico, session.accessToken, email, headers, portal)
  return session
}

/** For a gateway in another process. Waits for the first mail. */
export function outboxOf({ operationsUrl }: { operationsUrl: string }): Portico['mailTo'] {
  return async (address, template) => {
    for (let tries = 0; tries < 1_000; tries++) {
      const mails: DevelopmentMail[] = await (await fetch(`${operationsUrl}/mail.json`)).json()
      const newest = mails.find((mail) => mail.to === address && mail.template === template)
      if (newest) return newest
      await pause(20)
    }
    throw new Error(`no mail ${template} to ${address}`)
  }
}

/** For a gateway in another process, with the development outbox. */
export function signInAt(gateway: { url: string; operationsUrl: string }, email?: string): Promise<Session> {
  return signIn(
    { call: (method, path, call) => send(gateway.url, method, path, call), mailTo: outboxOf(gateway) },
    email,
  )
}
