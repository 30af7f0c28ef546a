import { z } from 'zod'
import { httpUrl, secretPrefix } from './addresses.ts'
import { lifetimeMs, Secret, timeoutMs } from './values.ts'

const allowance = {
  limit: z.int().min(1).describe('So many are without consequence.'),
  windowMs: lifetimeMs(1_000).describe('Within so long.'),
}

/** A page below `publicUrl`, or a whole address. */
const page = z.union([z.string().regex(/^\/[^\s#]*$/), httpUrl], {
  error: 'a path that begins with a slash, or an address that begins with http:// or https://',
})

/** Where mails of a portal lead to. */
export const links = z.strictObject({
  signIn: page.describe('Where one signs in.'),
  passwordReset: page.describe('Where one sets a new password; the token of the link is appended as a fragment.'),
})

export const tokens = z.strictObject({
  issuer: z.string().min(1).describe('`iss` of every token.'),
  accessTtlMs: lifetimeMs(1_000).describe('The life of an access token.'),
  clockSkewMs: lifetimeMs(0).describe(
    'How far the clocks of two replicas, or of the gateway and a domain service, may differ.',
  ),
  keyPublicationMs: lifetimeMs(0).describe(
    'How long a new signing key is published before it signs: longer than anybody keeps a copy of the JWK Set.',
  ),
  keyRefreshMs: lifetimeMs(100).describe('How often replicas read the signing keys anew.'),
})

export const sessions = z.strictObject({
  absoluteMs: lifetimeMs(1_000).describe('The life of a session, however busy it is.'),
  idleMs: lifetimeMs(1_000).describe('The life of a session that nobody uses.'),
  maxConcurrent: z.int().min(1).max(100).describe('Sessions at once of a new account, which may set another number.'),
})

export const login = z.strictObject({
  sessionTtlMs: lifetimeMs(100).describe('How long a login or a registration may take.'),
  concurrency: z
    .int()
    .min(1)
    .describe('Steps of logins that a process takes at once, of those that begin and of those under way.'),
  queue: z.int().min(1).describe('How many of each wait their turn; what comes beyond is answered 503.'),
  attempts: z.int().min(1).max(10).describe('Tries of a code within one of them.'),
  codeTtlMs: lifetimeMs(100).describe('The life of a mailed code.'),
  resendMs: lifetimeMs(0).describe('The pause before another one.'),
  failures: z.strictObject({
    ...allowance,
    firstWaitMs: lifetimeMs(100).describe('The first wait.'),
    longestWaitMs: lifetimeMs(100).describe('No wait is longer.'),
  }),
})

export const passwords = z.strictObject({
  concurrency: z.int().min(1).describe('How many argon2id computations run at once.'),
  queue: z.int().min(1).describe('How many more wait; what comes beyond is answered 503.'),
  minimumScore: z.int().min(0).max(4).describe("Of zxcvbn's scores 0 to 4; 2 takes some 10^6 guesses or more."),
  blocklist: z.array(z.string().min(3)).describe('Words of yours that make a password no stronger.'),
  resetTtlMs: lifetimeMs(100).describe('How long a mailed link is good.'),
  initTtlMs: lifetimeMs(100).describe('How long the token at the end of a registration is good.'),
  breachCheck: z.strictObject({
    url: secretPrefix
      .nullable()
      .describe(
        'What the five digits are appended to, so that it ends with / or =; masked as a key may be in it; null asks nobody.',
      ),
    timeoutMs: timeoutMs(100).describe('For an answer.'),
  }),
})

export const mfa = z.strictObject({
  issuer: z
    .string()
    .min(1)
    .max(64)
    .regex(/^[^:]+$/, 'no colon, which divides an otpauth label')
    .describe('What authenticator apps show beside a code.'),
  setupTtlMs: lifetimeMs(100).describe('How long a new authenticator waits to be verified.'),
  stepUpMs: lifetimeMs(100).describe('How long a second factor that was proved counts for what asks for a fresh one.'),
})

/** Masked wherever the configuration is printed. */
const secret = z
  .string()
  .min(1)
  .transform((text) => new Secret(text))

export const turnstile = z.strictObject({
  secret: secret.nullable().describe('The secret key of the widget; null: no token of one is asked for.'),
  verifyUrl: httpUrl.describe('Who tells whether a token is good.'),
  timeoutMs: timeoutMs(100).describe('For an answer.'),
})

export const background = z.strictObject({
  concurrency: z.int().min(1).describe('Pieces of work at once.'),
  capacity: z.int().min(1).describe('Pieces in all; what comes beyond is given up, with a fault in the log.'),
  spreadMs: timeoutMs(0).describe(
    'Each begins at random within so long, so that no answer tells whether there is a mail.',
  ),
  attempts: z.int().min(1).describe('Tries of each, with growing pauses.'),
  retryMs: timeoutMs(0).describe('The first pause.'),
  closeMs: timeoutMs(0).describe(
    'How long a process that goes down waits for what is under way, within the time of `shutdown` and 5 s more.',
  ),
})

export const identity = z.strictObject({ sweepEveryMs: lifetimeMs(1_000) })
