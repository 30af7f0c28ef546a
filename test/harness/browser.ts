import type { Answer, Call } from './http.ts'
import type { Portico } from './portico.ts'
import { codeIn } from './sign-in.ts'

/** The headers that a browser adds for a page of the gateway's origin. */
export const fromOwnPage = { 'sec-fetch-site': 'same-origin' }

/** Null if the response sets no session cookie. Empty if it deletes the cookie. */
function cookieOf({ headers }: Answer): string | null {
  const [set] = headers.getSetCookie()
  return set?.includes('Max-Age=0') ? '' : (set?.split(';', 1)[0] ?? null)
}

/** A page in cookie mode. It keeps the cookie that the gateway sets, as a browser does. */
export interface Page {
  cookie: string
  call(method: string, path: string, call?: Call): Promise<Answer>
}

export async function openPage(portico: Portico, email = 'owner@demo.test', portal = 'consumer'): Promise<Page> {
  const page = createPage(portico, portal)
  const started = await signInOn(portico, page, email)
  if (started.status !== 200) throw new Error(`sign-in: ${started.status} ${started.text}`)
  return page
}

function createPage(portico: Portico, portal: string): Page {
  const prefix = `/web/v1/${portal}`
  const page: Page = {
    cookie: '',
    call: async (method, path, { headers, ...call } = {}) => {
      const own = { ...fromOwnPage, ...(page.cookie && { cookie: page.cookie }) }
      const answer = await portico.call(method, prefix + path, { ...call, headers: { ...own, ...headers } })
      page.cookie = cookieOf(answer) ?? page.cookie
      return answer
    },
  }
  return page
}

/** With the mailed code. The page may have the cookie of a former session. */
export async function signInOn(portico: Portico, page: Page, email: string, code?: string): Promise<Answer> {
  const { body } = await page.call('POST', '/auth/login/initiate', { body: { email, password: 'Portico-demo-2026' } })
  const { sessionId } = body.data
  await page.call('POST', '/auth/login/mfa/send', { body: { sessionId, mfaMethod: 'EMAIL' } })
  const completion = { mfaMethod: 'EMAIL', code: code ?? codeIn((await portico.mailTo(email, 'login-code')).text) }
  return page.call('POST', '/auth/browser-session', { body: { sessionId, ...completion } })
}

/** Steps up with a mailed code. */
export async function stepUpOn(portico: Portico, page: Page, email = 'owner@demo.test'): Promise<Answer> {
  await page.call('POST', '/security/step-up/send', { body: { mfaMethod: 'EMAIL' } })
  const code = codeIn((await portico.mailTo(email, 'step-up-code')).text)
  return page.call('POST', '/security/step-up', { body: { mfaMethod: 'EMAIL', code } })
}
