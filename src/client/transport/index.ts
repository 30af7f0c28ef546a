import { byFetch } from './by-fetch.ts'
import { byXhr } from './by-xhr.ts'
import type { Transport } from './request.ts'

export type { Transport, WireRequest } from './request.ts'

/** fetch; for an upload whose progress is asked for, XMLHttpRequest where there is one. */
export const createTransport = (fetch: typeof globalThis.fetch): Transport => {
  const usual = byFetch(fetch)
  return (request) => (request.onProgress && typeof XMLHttpRequest !== 'undefined' ? byXhr(request) : usual(request))
}
