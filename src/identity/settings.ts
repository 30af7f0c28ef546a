import type { Portal } from '../kernel/index.ts'

/** Maximum number of events in a window. */
export interface WindowLimit {
  limit: number
  windowMs: number
}

/** Settings of one portal. */
interface PortalIdentity {
  /** Whether users can register on this portal, and whether an operator must approve the account. */
  selfRegistration: 'closed' | 'open' | 'approval'
  /** Absolute URLs of the pages that mails link to. The reset token is in the fragment of the password link. */
  links: { signIn: string; passwordReset: string }
  /** Codes mailed to one account, or to one address during registration. */
  codeSends: WindowLimit
  /** Reset links requested for one e-mail address. */
  forgot: WindowLimit
}

/** Settings of identity. Durations are milliseconds. */
export interface IdentitySettings {
  tokens: {
    /** `iss` of every token. */
    issuer: string
    accessTtlMs: number
    /** Lifetime of call assertions, which the same keys sign. */
    assertionTtlMs: number
    /** Maximum clock difference between two replicas. Applies to every time claim. */
    clockSkewMs: number
    /** How long a new signing key is published before it signs. Must exceed the TTL of JWKS caches. */
    keyPublicationMs: number
    /** How long a replica caches the signing keys. */
    keyRefreshMs: number
    /** Maximum number of verified tokens cached per replica. */
    cacheSize: number
    /** How long a used refresh token returns the same successor again. */
    refreshReuseMs: number
  }
  sessions: {
    idleMs: number
    absoluteMs: number
    /** Session limit of a new account. */
    maxConcurrent: number
    /** How long a replica caches a session or a whitelist. At most 1 second. */
    cacheTtlMs: number
    /** Minimum interval between two writes of a session's activity or of a whitelist match. */
    activityIntervalMs: number
    /** Maximum number of sessions cached per replica. */
    cacheSize: number
  }
  login: {
    sessionTtlMs: number
    /** Maximum number of concurrent and of waiting login steps. First steps and later steps have separate limits. */
    concurrency: number
    queue: number
    attempts: number
    codeTtlMs: number
    resendMs: number
    /** Failures per e-mail address and window. The first lockout takes `firstWaitMs`; each further failure doubles it. */
    failures: WindowLimit & { firstWaitMs: number; maxWaitMs: number }
  }
  portals: Record<Portal, PortalIdentity>
  passwords: {
    /** Minimum zxcvbn score, 0 to 4. */
    minimumScore: number
    /** Words that do not count towards the strength of a password, such as the name of the deployment. */
    blocklist: string[]
    /** Lifetimes of a mailed reset link and of the token that a registration returns. */
    resetTtlMs: number
    initTtlMs: number
  }
  mfa: {
    /** Issuer name that an authenticator app shows. */
    issuer: string
    /** How long a new authenticator secret can be verified. */
    setupTtlMs: number
    /** How long a step-up is valid. */
    stepUpMs: number
  }
  secureChannel: {
    sessionTtlMs: number
    /** Lifetime of a key, and how long before its end the next key is offered. */
    keyTtlMs: number
    keyOverlapMs: number
    /** Maximum number of open channel sessions per portal. */
    maxSessions: number
    /** Maximum difference between `iat` of a key exchange and the current time. */
    maxClockDifferenceMs: number
    /** Size of the replay window in sequence numbers. */
    windowSize: number
    /** Maximum number of channel sessions cached per replica. */
    cacheSize: number
  }
}

/** Settings that a deployment cannot change. */
export const fixedSettings = {
  tokens: { cacheSize: 20_000, refreshReuseMs: 30_000 },
  sessions: { cacheTtlMs: 1_000, activityIntervalMs: 60_000, cacheSize: 20_000 },
  secureChannel: { maxClockDifferenceMs: 60_000, windowSize: 256, cacheSize: 10_000 },
} satisfies { [Part in keyof IdentitySettings]?: Partial<IdentitySettings[Part]> }
