/*
 * Cloudflare Turnstile: developers.cloudflare.com/turnstile/get-started/client-side-rendering. The content security policy of
 * the page allows its origin only if the deployment has a CAPTCHA.
 */

/** `checking` can ask the user. `code` is that of Turnstile, or null if its script is blocked. */
export type CheckState = { at: 'loading' | 'checking' | 'complete' } | { at: 'failed'; code: string | null }

export interface Check {
  /** Starts a new check. */
  renew(): void
  stop(): void
}

type Choices = Pick<Options, 'sitekey' | 'theme' | 'language'>

/** Shows the widget. `onChange` gets the token of a complete check, which is valid once, for five minutes. */
export function startCheck(
  container: HTMLElement,
  choices: Choices,
  onChange: (state: CheckState, token: string | null) => void,
): Check {
  let isStopped = false
  let widgetId: string | null = null
  const tell = (state: CheckState, token: string | null = null): void => {
    if (!isStopped) onChange(state, token)
  }
  const fail = (code: string | null): void => tell({ at: 'failed', code })
  const start = async (): Promise<void> => {
    await loadScript()
    if (isStopped) return
    tell({ at: 'checking' })
    widgetId =
      window.turnstile?.render(container, {
        ...choices,
        ...fixed,
        callback: (token) => tell({ at: 'complete' }, token),
        'expired-callback': () => tell({ at: 'checking' }),
        'timeout-callback': () => tell({ at: 'checking' }),
        'error-callback': (code) => {
          fail(code)
          return true
        },
        'unsupported-callback': () => fail(null),
      }) ?? null
  }
  tell({ at: 'loading' })
  start().catch(() => fail(null))
  return {
    renew: () => {
      if (widgetId === null || isStopped) return
      tell({ at: 'checking' })
      window.turnstile?.reset(widgetId)
    },
    stop: () => {
      isStopped = true
      if (widgetId !== null) window.turnstile?.remove(widgetId)
    },
  }
}

/** The parts of the API that the applications use. Turnstile replaces the object when it loads a newer script. */
interface Turnstile {
  /** Throws for invalid options. */
  render(container: HTMLElement, options: Options): string | null | undefined
  reset(widgetId: string): void
  remove(widgetId: string): void
}

interface Options {
  sitekey: string
  theme: 'auto' | 'light' | 'dark'
  language: string
  size: 'flexible'
  'response-field': false
  'feedback-enabled': false
  callback(token: string): void
  /** Then the widget starts a new check. */
  'expired-callback'(): void
  /** The user did not complete the check in time. Then the widget starts a new one. */
  'timeout-callback'(): void
  /** `true` means that the page shows the error. The widget tries again. */
  'error-callback'(code: string): true
  'unsupported-callback'(): void
}

/**
 * As wide as its container. Without a hidden field, because the token is read by `callback`, and without the form for reports
 * to Cloudflare, because the content security policy blocks its requests.
 */
const fixed = { size: 'flexible', 'response-field': false, 'feedback-enabled': false } as const

declare global {
  interface Window {
    turnstile?: Turnstile
    trustedTypes?: {
      createPolicy(name: string, rules: { createScriptURL(url: string): string | null }): unknown
    }
  }
}

const script = 'https://challenges.cloudflare.com/turnstile/v0/api.js'
const parameters: ReadonlySet<string> = new Set(['render', '_upgrade', '_cb'])

/** Networks can drop requests without a response. */
const timeoutMs = 20_000

let loading: Promise<void> | null = null
let isAllowed = false

/** Rejects if the script is blocked. A later call tries again. */
function loadScript(): Promise<void> {
  loading ??= load().catch((error: unknown) => {
    loading = null
    throw error
  })
  return loading
}

function load(): Promise<void> {
  allowScript()
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const element = document.createElement('script')
  const fail = (): void => {
    element.remove()
    reject(new Error('the script of Turnstile did not load'))
  }
  element.src = `${script}?render=explicit`
  element.onload = () => (window.turnstile ? resolve() : fail())
  element.onerror = fail
  document.head.append(element)
  const timer = setTimeout(fail, timeoutMs)
  return promise.finally(() => clearTimeout(timer))
}

/**
 * The policy is the default one, because Turnstile replaces an outdated script by a new one, whose URL it sets as a plain
 * text with further parameters.
 */
function allowScript(): void {
  if (isAllowed) return
  isAllowed = true
  window.trustedTypes?.createPolicy('default', { createScriptURL: (url) => (isScript(url) ? url : null) })
}

function isScript(url: string): boolean {
  const { origin, pathname, searchParams } = new URL(url, location.href)
  return origin + pathname === script && [...searchParams.keys()].every((name) => parameters.has(name))
}
