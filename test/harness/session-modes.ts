import type { Answer, Call } from './http.ts'
import type { Portico } from './portico.ts'

/** How a session proves itself: an access token, or the cookie of a browser. */
export const sessionModes = ['token', 'cookie'] as const
export type SessionMode = (typeof sessionModes)[number]

export interface PorticoInMode extends Portico {
  /** The headers of a request that the gateway does not get from `call`. */
  credentials(token: string): Record<string, string>
}

/**
 * Calls of a gateway whose sign-ins start sessions in this mode. In cookie mode, `accessToken` is the first value of the
 * cookie. `token` of a call then sends its latest value, as a browser does.
 */
export function inMode(portico: Portico, mode: SessionMode): PorticoInMode {
  const latest = new Map<string, string>()
  const credentials = (token: string): Record<string, string> => {
    const cookie = latest.get(token)
    return cookie === undefined ? { authorization: `Bearer ${token}` } : { cookie, 'sec-fetch-site': 'same-origin' }
  }
  const callByCookie = async (method: string, path: string, { token, ...call }: Call = {}): Promise<Answer> => {
    const headers = token === undefined ? {} : credentials(token)
    const answer = await portico.call(method, path.replace(/\/auth\/login\/complete$/, '/auth/browser-session'), {
      ...call,
      headers: { ...headers, ...call.headers },
    })
    const cookie = newCookieOf(answer)
    if (cookie === undefined) return answer
    latest.set(token ?? cookie, cookie)
    return token === undefined ? withToken(answer, cookie) : answer
  }
  return {
    ...portico,
    get url() {
      return portico.url
    },
    call: mode === 'token' ? portico.call : callByCookie,
    credentials,
  }
}

/** Undefined for a response that keeps or deletes the cookie. */
function newCookieOf({ headers }: Answer): string | undefined {
  const [set] = headers.getSetCookie()
  return set?.includes('Max-Age=0') ? undefined : set?.split(';', 1)[0]
}

function withToken(answer: Answer, accessToken: string): Answer {
  return { ...answer, body: { ...answer.body, data: { ...answer.body.data, accessToken } } }
}
