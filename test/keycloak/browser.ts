import { otpOf } from '../harness/otp.ts'
import { otpSecret, password } from './realm.ts'

/** A browser that fills in the forms of Keycloak. */
export class KeycloakBrowser {
  readonly #cookies = new Map<string, string>()
  /** The names of the fields of each form, in the order in which Keycloak showed them. */
  readonly forms: string[] = []

  /** Follows redirects and fills in forms until one leads to another origin. Returns its URL. */
  async visit(start: string, username: string): Promise<URL> {
    const { origin } = new URL(start)
    let request: { url: string; form?: URLSearchParams } = { url: start }
    for (let hops = 0; hops < 20; hops += 1) {
      const { response, text } = await this.#send(request)
      const location = response.headers.get('location')
      if (location === null) {
        request = this.#fillIn(text, username)
        continue
      }
      const next = new URL(location, request.url)
      if (next.origin !== origin) return next
      request = { url: next.href }
    }
    throw new Error('too many redirects')
  }

  async #send({ url, form }: { url: string; form?: URLSearchParams }) {
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: [...this.#cookies].map((pair) => pair.join('=')).join('; ') },
      ...(form && { method: 'POST', body: form }),
    })
    for (const each of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(each) ?? []
      if (/;\s*max-age=0/i.test(each)) this.#cookies.delete(name)
      else this.#cookies.set(name, value)
    }
    return { response, text: await response.text() }
  }

  #fillIn(page: string, username: string): { url: string; form: URLSearchParams } {
    const action = /<form[^>]*\saction="([^"]+)"/.exec(page)?.[1]
    const fields = [...page.matchAll(/<input[^>]*\sname="(username|password|otp)"/g)].map(([, name = '']) => name)
    const [last] = fields.slice(-1)
    const hasError = /aria-invalid="true"|pf-m-danger/.test(page)
    if (action === undefined || last === undefined || hasError)
      throw new Error(`not a form of a sign-in:\n${textOf(page)}`)
    this.forms.push(fields.join(' '))
    const form = new URLSearchParams(last === 'otp' ? { otp: otpOf(otpSecret) } : { username, password })
    return { url: action.replaceAll('&amp;', '&'), form }
  }
}

function textOf(page: string): string {
  return page
    .replaceAll(/<(script|style).*?<\/\1>|<[^>]*>/gs, ' ')
    .replaceAll(/\s+/g, ' ')
    .slice(0, 2_000)
}
