import { z } from 'zod'
import { httpUrl, lifetimeMs, positive, secret, secretPrefix } from './values.ts'

/** Domains add their settings. */
export const accessSettings = z.strictObject({
  leaseMs: z
    .int()
    .min(0)
    .max(5_000)
    .describe(
      'Time in milliseconds for which each replica caches members’ permissions if the store is PostgreSQL. The response to a change of permissions is delayed by this time, so that all caches have expired. All replicas must have the same value.',
    ),
})

const failureWindow = {
  limit: z
    .int()
    .min(1)
    .describe(
      'Number of failed passwords and codes for an account within `windowMs` after which a lockout starts. Each known device has its own count, and all unknown devices share one.',
    ),
  windowMs: lifetimeMs(1_000).describe(
    'Length in milliseconds of the window in which failed passwords and codes are counted.',
  ),
}

export const page = z.union([z.string().regex(/^\/[^\s#]*$/), httpUrl], {
  error: 'a path that begins with a slash, or a URL that begins with http:// or https://',
})

export const links = z.strictObject({
  providerCallback: page
    .optional()
    .describe(
      'Page that completes a sign-in with an identity provider: a path below `publicUrl`, or a URL. The code of the provider is appended as the fragment of the URL.',
    ),
  signIn: page.describe('Sign-in page to which emails link: a path below `publicUrl`, or a URL.'),
  passwordReset: page.describe(
    'Page for setting a new password, to which emails link: a path below `publicUrl`, or a URL. The token is appended as the fragment of the URL.',
  ),
  factorUndo: page.describe(
    'Page for removing second factors that somebody else added, to which emails link: a path below `publicUrl`, or a URL. The token is appended as the fragment of the URL.',
  ),
})

export const tokens = z.strictObject({
  issuer: z.string().min(1).describe('The `iss` claim of every token.'),
  accessTtlMs: lifetimeMs(1_000).describe('Lifetime of an access token in milliseconds.'),
  refreshRetryMs: lifetimeMs(0).describe(
    'Time in milliseconds for which a used refresh token returns the same successor again, if its response was lost. It ends as soon as the successor is used. Later use counts as theft and ends the session.',
  ),
  clockSkewMs: lifetimeMs(0).describe(
    'Maximum clock difference in milliseconds between replicas, or between the gateway and a domain service, at which expired tokens are still accepted. Tokens that are not valid yet are accepted for at least 5 s.',
  ),
  keyPublicationMs: lifetimeMs(0).describe(
    'Time in milliseconds for which a new signing key is published in the JWK Set before it signs tokens. It must be longer than the time for which verifiers cache the JWK Set.',
  ),
  keyRefreshMs: lifetimeMs(100).describe(
    'Interval in milliseconds at which each replica reloads the signing keys from the store.',
  ),
})

export const sessions = z.strictObject({
  absoluteMs: lifetimeMs(1_000).describe(
    'Maximum lifetime of a session in milliseconds. When it expires, the user must sign in again, regardless of activity.',
  ),
  idleMs: lifetimeMs(1_000).describe('Time in milliseconds after which a session without requests expires.'),
  maxConcurrent: z
    .int()
    .min(1)
    .max(100)
    .describe(
      'Initial limit of concurrent sessions for a new account. A further sign-in ends the oldest session. Each user can change the limit.',
    ),
})

export const login = z.strictObject({
  sessionTtlMs: lifetimeMs(100).describe(
    'Time limit in milliseconds for completing a sign-in or a registration. When it expires, the user must start again.',
  ),
  concurrency: z
    .int()
    .min(1)
    .describe(
      'Maximum number of concurrent sign-in steps per process, or of all workers of a machine, so that many sign-ins do not slow down other requests. First steps and later steps have separate limits. Password hashes have a third one of the same size. Further steps wait in the queue.',
    ),
  queue: z
    .int()
    .min(1)
    .describe(
      'Maximum number of waiting sign-in steps per queue and process. First steps and later steps have separate queues. If a queue is full, further steps get 503.',
    ),
  attempts: z
    .int()
    .min(1)
    .max(10)
    .describe(
      'Maximum number of attempts to enter a code per sign-in or registration. After the last failed attempt, the user must start again.',
    ),
  codeTtlMs: lifetimeMs(100).describe('Lifetime of an emailed code in milliseconds.'),
  resendMs: lifetimeMs(0).describe('Minimum time in milliseconds between two emailed codes. Earlier requests get 429.'),
  knownDevices: z.strictObject({
    retentionMs: lifetimeMs(60_000).describe(
      'Time in milliseconds for which a device stays known after its last sign-in. A later sign-in counts as one from a new device.',
    ),
  }),
  failures: z.strictObject({
    ...failureWindow,
    firstWaitMs: lifetimeMs(100).describe(
      'Length in milliseconds of the first lockout of an account. Each further failure doubles the length, up to `maxWaitMs`.',
    ),
    maxWaitMs: lifetimeMs(100).describe(
      'Maximum length in milliseconds of a lockout after failed passwords and codes.',
    ),
  }),
})

export const passwords = z.strictObject({
  minimumScore: z
    .int()
    .min(0)
    .max(4)
    .describe(
      'Minimum zxcvbn score of a new password, from 0 to 4. Weaker passwords are rejected. A score of 2 means that guessing the password takes at least about 10^6 attempts.',
    ),
  blocklist: z
    .array(z.string().min(3))
    .describe('Words that add no strength to a new password, such as the names of your products.'),
  resetTtlMs: lifetimeMs(100).describe('Lifetime in milliseconds of an emailed password reset link.'),
  initTtlMs: lifetimeMs(100).describe(
    'Lifetime in milliseconds of the token that sets the first password after registration.',
  ),
  suspicionWindowMs: lifetimeMs(0).describe(
    'Age in milliseconds up to which the payout accounts, members and role permissions that an account has added are suspended when its password is reset by link, or when an operator ends all its sessions.',
  ),
  breachCheck: z.strictObject({
    url: secretPrefix
      .nullable()
      .describe(
        'URL prefix of a service that lists breached passwords. It must end with `/` or `=`. The first five digits of the SHA-1 of the password are appended. The prefix is masked in all output. In production it must be https, except on a loopback address. `null` disables the check.',
      ),
  }),
})

export const notices = z.strictObject({
  maxPerDay: positive.describe(
    'Maximum number of emails per day, address and kind of event. It applies to notices about a workspace, which go to its owners, and about failed password confirmations. Further emails are dropped.',
  ),
})

export const mfa = z.strictObject({
  issuer: z
    .string()
    .min(1)
    .max(64)
    .regex(/^[^:]+$/, 'text without a colon, which separates the parts of an otpauth label')
    .describe('Name of this deployment that authenticator apps show next to a code.'),
  setupTtlMs: lifetimeMs(100).describe(
    'Time limit in milliseconds for confirming a new authenticator app with a code. When it expires, the setup must start again.',
  ),
  stepUpMs: lifetimeMs(100).describe(
    'Time in milliseconds for which a verified second factor allows operations that require step-up. When it expires, the user must verify a second factor again.',
  ),
  binding: z
    .enum(['purpose', 'session'])
    .describe(
      'Binding of step-ups. With `purpose`, a step-up allows one command: the operation with the amount, payee, role or member that the user confirmed. With `session`, it allows every operation of the session until it expires.',
    ),
})

export const turnstile = z.strictObject({
  secret: secret.nullable().describe('Secret key of the Cloudflare Turnstile widget. `null` disables the CAPTCHA.'),
  siteKey: z
    .string()
    .regex(/^[\w-]{1,100}$/, 'the site key of a Turnstile widget, such as 0x4AAAAAAA…')
    .nullable()
    .describe(
      'Site key of the Cloudflare Turnstile widget, which is public. Required with `secret` if an `app` is served, because its pages load the widget from Cloudflare.',
    ),
  verifyUrl: httpUrl.describe(
    'URL of the service that verifies Turnstile tokens. In production it must be https, except on a loopback address.',
  ),
})

export const background = z.strictObject({
  attempts: positive.describe(
    'Maximum number of attempts per background task, such as an email. After the last failed attempt, the task is dropped and logged as an error.',
  ),
})
