import type { Transport } from './request.ts'

/**
 * Cookies, caches and redirects are no part of the interface: none is sent, used or followed. A redirect taken for an error
 * would pass for a lost answer, and workerd has no such mode.
 */
const isolation = { credentials: 'omit', cache: 'no-store', redirect: 'manual', referrerPolicy: 'no-referrer' } as const

export const byFetch =
  (fetch: typeof globalThis.fetch): Transport =>
  ({ method, url, headers, body, signal }) =>
    fetch(url, { ...isolation, method, headers, body, signal })
