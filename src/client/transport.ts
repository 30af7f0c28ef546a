import type { Progress } from './operation-types.ts'

/** What goes over the wire. */
export interface WireRequest {
  method: string
  url: string
  headers: Record<string, string>
  body: string | FormData | null
  /** Ends all of it, reading the answer included. */
  signal: AbortSignal | null
  onProgress: ((progress: Progress) => void) | undefined
}

/** Sends a request; rejects only where no answer arrives. */
export type Transport = (request: WireRequest) => Promise<Response>

/**
 * Cookies, caches and redirects are no part of the interface: none is sent, used or followed. A redirect taken for an error
 * would pass for a lost answer, and workerd has no such mode.
 */
const isolation = { credentials: 'omit', cache: 'no-store', redirect: 'manual', referrerPolicy: 'no-referrer' } as const

export const byFetch =
  (fetch: typeof globalThis.fetch): Transport =>
  ({ method, url, headers, body, signal }) =>
    fetch(url, { ...isolation, method, headers, body, signal })

const headersOf = (raw: string): [string, string][] =>
  raw
    .trim()
    .split(/\r?\n/)
    .filter(Boolean)
    .map((line) => {
      const at = line.indexOf(':')
      return [line.slice(0, at).trim(), line.slice(at + 1).trim()]
    })

/** Statuses whose responses may not be built with a body. */
const bodiless = new Set([204, 205, 304])

const responseOf = (xhr: XMLHttpRequest): Response => {
  const { status, response } = xhr
  const init = { status, headers: headersOf(xhr.getAllResponseHeaders()) }
  return new Response(bodiless.has(status) ? null : response, init)
}

/**
 * XMLHttpRequest, which alone among a browser's means tells how much of an upload has left. Unlike fetch it cannot be told
 * to leave out its origin's cookies, nor to follow no redirect.
 */
export const byXhr: Transport = ({ method, url, headers, body, signal, onProgress }) =>
  new Promise((resolve, reject) => {
    const xhr = new XMLHttpRequest()
    xhr.open(method, url)
    xhr.responseType = 'arraybuffer'
    for (const [name, value] of Object.entries(headers)) xhr.setRequestHeader(name, value)
    xhr.upload.onprogress = ({ loaded, total }) => onProgress?.({ loaded, total })
    xhr.onload = () => {
      try {
        resolve(responseOf(xhr))
      } catch (cause) {
        // A status that no Response may have, such as 999.
        reject(cause)
      }
    }
    xhr.onerror = () => reject(new TypeError('the upload found no answer'))
    // The browser's own end of it: window.stop(), a page that is left.
    xhr.onabort = () => reject(new DOMException('the upload was broken off', 'AbortError'))
    const abort = (): void => {
      reject(signal?.reason)
      xhr.abort()
    }
    if (signal?.aborted) return abort()
    signal?.addEventListener('abort', abort, { once: true })
    xhr.onloadend = () => signal?.removeEventListener('abort', abort)
    xhr.send(body)
  })

/** fetch; for an upload whose progress is asked for, XMLHttpRequest where there is one. */
export const createTransport = (fetch: typeof globalThis.fetch): Transport => {
  const usual = byFetch(fetch)
  return (request) => (request.onProgress && typeof XMLHttpRequest !== 'undefined' ? byXhr(request) : usual(request))
}
