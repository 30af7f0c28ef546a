import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import type { BrowserContext, Frame } from 'playwright-core'
import { vi } from 'vitest'
import { Secret } from '../../../src/config/index.ts'
import type { WholeSettings } from '../../harness/settings.ts'
import type { Visitor } from './world.ts'

const origin = 'https://challenges.cloudflare.com'
export const script = `${origin}/turnstile/v0/api.js?render=explicit`

/** The documented service: it accepts each token once. */
export interface SiteVerify {
  configure(settings: WholeSettings): void
  /** The form of each request. */
  forms: Record<string, string>[]
  /** The token, which is valid, expires. */
  expire(token: string): void
  stop(): Promise<void>
}

export async function startSiteVerify(): Promise<SiteVerify> {
  const forms: Record<string, string>[] = []
  const spent = new Set<string>()
  const server = createServer(async (request, response) => {
    const form = Object.fromEntries(new URLSearchParams(await text(request)))
    forms.push(form)
    const token = form.response ?? ''
    const success = form.secret === 'the-secret' && token.startsWith('token-') && !spent.has(token)
    spent.add(token)
    const reply = { success, 'error-codes': success ? [] : ['timeout-or-duplicate'] }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(reply))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const verifyUrl = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}/siteverify`
  return {
    configure: (settings) => {
      settings.turnstile = { secret: new Secret('the-secret'), siteKey: 'the-site-key', verifyUrl }
    },
    forms,
    expire: (token) => spent.add(token),
    stop: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Serves the stand-in for Turnstile to the pages of a context. */
export async function serveTurnstile(context: BrowserContext): Promise<void> {
  await context.route(`${origin}/**`, (route) => {
    const { pathname } = new URL(route.request().url())
    if (pathname === '/turnstile/v0/api.js')
      return route.fulfill({ contentType: 'text/javascript', body: `(${runTurnstile})(${JSON.stringify(origin)})` })
    return route.fulfill({
      contentType: 'text/html',
      body: `<!doctype html><html lang="en"><title>Challenge</title>
        <button data-token="token-${randomUUID()}">Verify you are human</button><script>(${runChallenge})()</script>`,
    })
  })
}

/** The frame of the newest widget, once it has loaded. */
export async function challengeOf({ page }: Visitor): Promise<Frame> {
  const find = (): Frame | undefined => page.frames().findLast((frame) => frame.url().startsWith(origin))
  await vi.waitUntil(find, { timeout: 20_000 })
  const frame = find()
  if (!frame) throw new Error('no frame of Turnstile')
  await frame.getByRole('button').waitFor()
  return frame
}

/** The token that the frame gives. */
export async function tokenOf(frame: Frame): Promise<string> {
  return (await frame.getByRole('button').getAttribute('data-token')) ?? ''
}

/** Sends an event as the widget does. */
export function report(frame: Frame, event: string, value?: string): Promise<void> {
  return frame.evaluate((data) => parent.postMessage(data, '*'), { event, value })
}

/** Forgets the complaints about requests to Cloudflare, and returns their URLs. */
export function takeForeign({ complaints }: Visitor): string[] {
  const isForeign = (complaint: string): boolean => complaint.startsWith(`foreign request ${origin}/`)
  const urls = complaints.filter(isForeign).map((complaint) => complaint.replace('foreign request ', ''))
  complaints.splice(0, complaints.length, ...complaints.filter((complaint) => !isForeign(complaint)))
  return urls
}

/** In the page. The parts of the documented API that explicit rendering uses, with the structure of the original. */
function runTurnstile(origin: string): void {
  interface Options extends Record<string, unknown> {
    sitekey: string
    theme: string
    language: string
  }
  const widgets = new Map<string, { options: Options; host: HTMLElement; frame: HTMLIFrameElement }>()
  const load = (frame: HTMLIFrameElement, { sitekey, theme, language }: Options): void => {
    frame.src = `${origin}/challenge?${new URLSearchParams({ sitekey, theme, language })}`
  }
  const turnstile = {
    render: (container: HTMLElement, options: Options): string => {
      const id = `cf-chl-widget-${crypto.randomUUID()}`
      const [host, frame] = [document.createElement('div'), document.createElement('iframe')]
      frame.title = 'Widget containing a Cloudflare security challenge'
      Object.assign(frame.style, { width: '100%', height: '65px', border: 'none' })
      frame.setAttribute('sandbox', 'allow-same-origin allow-scripts allow-popups')
      host.attachShadow({ mode: 'closed' }).append(frame)
      widgets.set(id, { options, host, frame })
      load(frame, options)
      container.append(host)
      return id
    },
    reset: (id: string): void => {
      const widget = widgets.get(id)
      if (widget) load(widget.frame, widget.options)
    },
    remove: (id: string): void => {
      widgets.get(id)?.host.remove()
      widgets.delete(id)
    },
  }
  addEventListener('message', ({ origin: sender, source, data }) => {
    if (sender !== origin) return
    for (const [id, { options, frame }] of widgets) {
      if (frame.contentWindow !== source) continue
      const callback = options[data.event]
      if (typeof callback === 'function') callback(data.value)
      // The default of `refresh-expired`.
      if (data.event === 'expired-callback') turnstile.reset(id)
    }
  })
  Object.assign(window, { turnstile })
}

/** In the frame. */
function runChallenge(): void {
  const button = document.querySelector('button')
  button?.addEventListener('click', () => parent.postMessage({ event: 'callback', value: button.dataset.token }, '*'))
}
