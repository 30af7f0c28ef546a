import type { Transport } from './request.ts'

/** Cookies, caches and redirects are no part of the interface: none is sent, used or followed. */
const isolation = { credentials: 'omit', cache: 'no-store', redirect: 'error', referrerPolicy: 'no-referrer' } as const

const signals = (signal: AbortSignal | undefined, timeoutMs: number | null): AbortSignal | null => {
  const timeout = timeoutMs === null ? undefined : AbortSignal.timeout(timeoutMs)
  if (!signal || !timeout) return signal ?? timeout ?? null
  // Where signals cannot be put together the caller's ends the call all the same (giving-up.ts), and its time the request.
  return 'any' in AbortSignal ? AbortSignal.any([signal, timeout]) : timeout
}

export const byFetch =
  (fetch: typeof globalThis.fetch): Transport =>
  ({ method, url, headers, body, signal, timeoutMs }) =>
    fetch(url, { ...isolation, method, headers, body, signal: signals(signal, timeoutMs) })
