import { z } from 'zod'
import { Secret } from './secrets.ts'

const milliseconds = z.int().min(0)
const interval = z.int().min(100)
const httpUrl = z.url({ protocol: /^https?$/ })
const allowance = { limit: z.int().min(1), windowMs: z.int().min(1_000) }

/** A page below `publicUrl`, or a whole address. */
const page = z.union([z.string().regex(/^\/[^\s#]*$/, 'a path that begins with a slash'), httpUrl])

/** Where mails of a portal lead to. */
export const links = z.strictObject({ signIn: page, passwordReset: page })

export const tokens = z.strictObject({
  issuer: z.string().min(1),
  accessTtlMs: milliseconds,
  clockSkewMs: milliseconds,
  keyPublicationMs: milliseconds,
  keyRefreshMs: interval,
})

export const sessions = z.strictObject({
  absoluteMs: milliseconds,
  idleMs: milliseconds,
  maxConcurrent: z.int().min(1).max(100),
})

export const login = z.strictObject({
  sessionTtlMs: interval,
  attempts: z.int().min(1).max(10),
  codeTtlMs: interval,
  resendMs: milliseconds,
  failures: z.strictObject({ ...allowance, firstWaitMs: interval, longestWaitMs: interval }),
})

export const passwords = z.strictObject({
  concurrency: z.int().min(1),
  queue: z.int().min(1),
  minimumScore: z.int().min(0).max(4),
  blocklist: z.array(z.string().min(3)),
  resetTtlMs: interval,
  initTtlMs: interval,
  breachCheck: z.strictObject({ url: httpUrl.nullable(), timeoutMs: interval }),
})

export const mfa = z.strictObject({
  issuer: z
    .string()
    .min(1)
    .max(64)
    .regex(/^[^:]+$/, 'no colon, which divides an otpauth label'),
  setupTtlMs: interval,
  stepUpMs: interval,
})

/** Masked wherever the configuration is printed. */
const secret = z
  .string()
  .min(1)
  .transform((text) => new Secret(text))

export const turnstile = z.strictObject({ secret: secret.nullable(), verifyUrl: httpUrl, timeoutMs: interval })

export const background = z.strictObject({
  concurrency: z.int().min(1),
  capacity: z.int().min(1),
  attempts: z.int().min(1),
  retryMs: milliseconds,
  closeMs: milliseconds,
})

export const identity = z.strictObject({ sweepEveryMs: z.int().min(1_000) })
