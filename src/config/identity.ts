import { z } from 'zod'
import { days } from '../kernel/index.ts'
import { httpUrl, lifetimeMs, Secret, secretPrefix, timeoutMs } from './values.ts'

const positive = z.int().min(1)

const invitations = z.strictObject({
  lifeMs: lifetimeMs(days(1))
    .multipleOf(days(1))
    .describe('Lifetime of an invitation in milliseconds. The value must be whole days.'),
  maxPending: positive.max(500).describe('Maximum number of pending invitations per workspace.'),
  maxPerDay: positive.describe(
    'Maximum number of invitations within 24 hours. It applies per workspace, and per inviting account over all its workspaces.',
  ),
  maxPerDayToAddress: positive.describe('Maximum number of invitations within 24 hours to one address.'),
})

const apiKeys = z.strictObject({
  maxPerWorkspace: positive.describe('Maximum number of API keys per workspace. Deleted keys do not count.'),
  maxLifeMs: lifetimeMs(60_000)
    .nullable()
    .describe(
      'Maximum lifetime of a new API key in milliseconds. It is also the default lifetime. With `null`, keys can live forever.',
    ),
})

export const accessSettings = z.strictObject({
  leaseMs: z
    .int()
    .min(0)
    .max(5_000)
    .describe(
      'Time in milliseconds for which each replica caches a membership if the store is PostgreSQL. The response to a change of permissions is sent after this time, when all caches have expired. Use the same value on all replicas.',
    ),
  invitations,
  apiKeys,
  workspaces: z.strictObject({
    maxPerAccount: positive.describe('Maximum number of workspaces to which an account can belong.'),
  }),
  roles: z.strictObject({
    maxPerWorkspace: positive.describe('Maximum number of roles per workspace, including OWNER.'),
  }),
})

const failureWindow = {
  limit: z.int().min(1).describe('Number of failures per window that starts a lockout.'),
  windowMs: lifetimeMs(1_000).describe('Length of the window in which failures are counted, in milliseconds.'),
}

/** A path below `publicUrl`, or an absolute URL. */
const page = z.union([z.string().regex(/^\/[^\s#]*$/), httpUrl], {
  error: 'a path that begins with a slash, or a URL that begins with http:// or https://',
})

/** The pages that the mails of a portal link to. */
export const links = z.strictObject({
  signIn: page.describe('Sign-in page: a path below `publicUrl`, or a URL.'),
  passwordReset: page.describe(
    'Page on which a user sets a new password: a path below `publicUrl`, or a URL. The token is appended as the fragment.',
  ),
})

export const tokens = z.strictObject({
  issuer: z.string().min(1).describe('The `iss` claim of every token.'),
  accessTtlMs: lifetimeMs(1_000).describe('Lifetime of an access token in milliseconds.'),
  clockSkewMs: lifetimeMs(0).describe(
    'Tolerated difference in milliseconds between the clocks of replicas, and between those of the gateway and a domain service.',
  ),
  keyPublicationMs: lifetimeMs(0).describe(
    'Time in milliseconds for which a new key is published before it signs tokens. It must be longer than clients cache the JWK Set.',
  ),
  keyRefreshMs: lifetimeMs(100).describe('Interval in milliseconds at which replicas reload the signing keys.'),
})

export const sessions = z.strictObject({
  absoluteMs: lifetimeMs(1_000).describe('Maximum lifetime of a session in milliseconds.'),
  idleMs: lifetimeMs(1_000).describe('Time in milliseconds after which a session without requests expires.'),
  maxConcurrent: z
    .int()
    .min(1)
    .max(100)
    .describe('Maximum number of concurrent sessions of a new account. An account can change its own limit.'),
})

export const login = z.strictObject({
  sessionTtlMs: lifetimeMs(100).describe('Time limit in milliseconds for completing a sign-in or a registration.'),
  concurrency: z
    .int()
    .min(1)
    .describe(
      'Maximum number of concurrent sign-in steps per process. It applies separately to first steps and to later steps. It protects signed-in users from many simultaneous sign-ins.',
    ),
  queue: z
    .int()
    .min(1)
    .describe(
      'Maximum number of waiting sign-in steps. It applies separately to first steps and to later steps. Further steps get 503.',
    ),
  attempts: z.int().min(1).max(10).describe('Maximum number of code attempts per sign-in or registration.'),
  codeTtlMs: lifetimeMs(100).describe('Lifetime of a mailed code in milliseconds.'),
  resendMs: lifetimeMs(0).describe('Time in milliseconds after which another code can be requested.'),
  failures: z.strictObject({
    ...failureWindow,
    firstWaitMs: lifetimeMs(100).describe(
      'Length of the first lockout after too many failures, in milliseconds. Each further lockout is longer.',
    ),
    maxWaitMs: lifetimeMs(100).describe('Maximum length of a lockout in milliseconds.'),
  }),
})

export const passwords = z.strictObject({
  concurrency: z.int().min(1).describe('Maximum number of concurrent password hashes (argon2id).'),
  queue: z.int().min(1).describe('Maximum number of waiting password hashes (argon2id). Further requests get 503.'),
  minimumScore: z
    .int()
    .min(0)
    .max(4)
    .describe('Minimum zxcvbn score of a new password, 0 to 4. A score of 2 means about 10^6 guesses or more.'),
  blocklist: z
    .array(z.string().min(3))
    .describe('Words that do not count towards the strength of a password, such as the names of your products.'),
  resetTtlMs: lifetimeMs(100).describe('Lifetime of a password reset link in milliseconds.'),
  initTtlMs: lifetimeMs(100).describe(
    'Lifetime in milliseconds of the token that sets the first password after registration.',
  ),
  breachCheck: z.strictObject({
    url: secretPrefix
      .nullable()
      .describe(
        "URL prefix of a service for breached passwords. It ends with `/` or `=`, and the first five digits of the password's digest are appended. It is masked in output. `null` disables the check.",
      ),
    timeoutMs: timeoutMs(100).describe(
      'Time limit in milliseconds for the service for breached passwords. After it, the password counts as not breached.',
    ),
  }),
})

export const mfa = z.strictObject({
  issuer: z
    .string()
    .min(1)
    .max(64)
    .regex(/^[^:]+$/, 'text without a colon, which separates the parts of an otpauth label')
    .describe('Issuer that authenticator apps show next to a code.'),
  setupTtlMs: lifetimeMs(100).describe('Time limit in milliseconds for verifying a new authenticator.'),
  stepUpMs: lifetimeMs(100).describe(
    'Time in milliseconds for which a verified second factor is enough for operations that require step-up.',
  ),
})

/** A secret, masked in all output. */
const secret = z
  .string()
  .min(1)
  .transform((text) => new Secret(text))

export const turnstile = z.strictObject({
  secret: secret.nullable().describe('Secret key of the Turnstile widget. `null` disables the check.'),
  verifyUrl: httpUrl.describe('URL that verifies Turnstile tokens.'),
  timeoutMs: timeoutMs(100).describe('Time limit in milliseconds for Turnstile. After it, the request gets 503.'),
})

export const background = z.strictObject({
  concurrency: z.int().min(1).describe('Maximum number of concurrent background tasks, such as mails.'),
  capacity: z
    .int()
    .min(1)
    .describe(
      'Maximum number of background tasks, running and waiting together. Further tasks are dropped and logged as errors.',
    ),
  spreadMs: timeoutMs(0).describe(
    'Maximum random delay in milliseconds before a task starts. The delay hides from response times whether a mail is sent.',
  ),
  attempts: z.int().min(1).describe('Maximum number of attempts per task. The pauses between them grow.'),
  retryMs: timeoutMs(0).describe('Pause in milliseconds before the second attempt. Later pauses grow.'),
  closeMs: timeoutMs(0).describe(
    'Time in milliseconds for which a stopping process waits for running tasks. The time of `shutdown` plus 5 s limits it.',
  ),
})

export const identity = z.strictObject({
  sweepEveryMs: lifetimeMs(1_000).describe('Interval in milliseconds at which expired identity data is deleted.'),
})
