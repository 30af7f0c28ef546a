import type { Transport } from './request.ts'

/** Cookies, caches and redirects are no part of the interface: none is sent, used or followed. */
const isolation = { credentials: 'omit', cache: 'no-store', redirect: 'error', referrerPolicy: 'no-referrer' } as const

export const byFetch =
  (fetch: typeof globalThis.fetch): Transport =>
  ({ method, url, headers, body, signal }) =>
    fetch(url, { ...isolation, method, headers, body, signal })
