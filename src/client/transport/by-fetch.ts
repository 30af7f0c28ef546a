import type { Transport } from './request.ts'

/** Cookies, caches and redirects are no part of the interface: none is sent, used or followed. */
const isolation = { credentials: 'omit', cache: 'no-store', redirect: 'error', referrerPolicy: 'no-referrer' } as const

const signals = (signal: AbortSignal | undefined, timeoutMs: number | null): AbortSignal | null => {
  const timeout = timeoutMs === null ? undefined : AbortSignal.timeout(timeoutMs)
  return signal && timeout ? AbortSignal.any([signal, timeout]) : (signal ?? timeout ?? null)
}

export const byFetch =
  (fetch: typeof globalThis.fetch): Transport =>
  ({ method, url, headers, body, signal, timeoutMs }) =>
    fetch(url, { ...isolation, method, headers, body, signal: signals(signal, timeoutMs) })
