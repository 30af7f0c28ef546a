import { type Instant, type Refusal, rateLimited } from '../../kernel/index.ts'

/** Codes of one login or session are sent one at a time, with a pause in between. */
export const sentTooSoon = (waitMs: number, internal: string, resendMs: number): Refusal =>
  rateLimited(waitMs, internal, { name: 'code-resend', limit: 1, windowMs: resendMs })

/** Refuses a second code so soon after the last one; asked before the quota, of which such a refusal costs nothing. */
export const requireResendable = (sentAt: Instant | null, now: Instant, resendMs: number): void => {
  // One that lies far ahead was sent before the clock was set back, and keeps nobody waiting.
  if (sentAt === null || Math.abs(now - sentAt) >= resendMs) return
  throw sentTooSoon(resendMs - (now - sentAt), 'a code was sent a moment ago', resendMs)
}
