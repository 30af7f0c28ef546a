import { longestTimer, type Operation } from '../kernel/index.ts'

/** The gateway takes a refresh token again for 30 s after it has answered it; a lost answer is asked for again before. */
const refreshTimeoutMs = 10_000

/** Ends an attempt that takes longer than it may; null for bytes, which take as long as they take. */
export const timeLimit = ({ reply, body, policy }: Operation, timeoutMs: number): AbortSignal | null => {
  if (reply === 'stream' || body === 'multipart') return null
  const bound = policy.rate === 'refresh' ? Math.min(timeoutMs, refreshTimeoutMs) : timeoutMs
  // AbortSignal.timeout takes whole milliseconds.
  return bound > longestTimer ? null : AbortSignal.timeout(Math.ceil(bound))
}

/** What ends a request: its caller or its time. */
export const eitherOf = (caller: AbortSignal | undefined, limit: AbortSignal | null): AbortSignal | null => {
  if (!caller || !limit) return caller ?? limit
  // Where signals cannot be put together the caller's ends the call all the same (giving-up.ts), and its time the request.
  return 'any' in AbortSignal ? AbortSignal.any([caller, limit]) : limit
}
