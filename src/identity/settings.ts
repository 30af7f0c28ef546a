import type { Portal } from '../kernel/index.ts'

/** Maximum number of events within a window. */
export interface WindowLimit {
  limit: number
  windowMs: number
}

/** What differs between the portals. */
interface PortalIdentity {
  /** Whether people can register on this portal, and whether an operator has to approve the account. */
  selfRegistration: 'closed' | 'open' | 'approval'
  /** Absolute URLs of the pages that mails link to. The password link carries its token in the fragment. */
  links: { signIn: string; passwordReset: string }
  /** Codes mailed to one account, or to one address that registers. */
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
    /** Maximum difference between the clocks of two replicas. Applies to every time claim. */
    clockSkewMs: number
    /** How long a new signing key is published before it signs. Longer than any JWKS cache keeps its copy. */
    keyPublicationMs: number
    /** How long a replica caches the signing keys. */
    keyRefreshMs: number
    /** Maximum number of verified tokens cached per replica. */
    cacheSize: number
    /** How long a used refresh token still returns the same successor. */
    refreshReuseMs: number
  }
  sessions: {
    idleMs: number
    absoluteMs: number
    /** `max_sessions` of a new account. */
    maxConcurrent: number
    /** How long a replica caches a session or a whitelist; at most a second. */
    cacheTtlMs: number
    /** Minimum interval between two writes of a session's activity, or of a whitelist match. */
    activityIntervalMs: number
    /** Maximum number of sessions cached per replica. */
    cacheSize: number
  }
  login: {
    sessionTtlMs: number
    /** Concurrent login steps, and how many more may wait. Counted apart for first steps and for later ones. */
    concurrency: number
    queue: number
    attempts: number
    codeTtlMs: number
    resendMs: number
    /** Failures per e-mail address and window. Beyond the limit the lockout starts at `firstWaitMs` and doubles. */
    failures: WindowLimit & { firstWaitMs: number; maxWaitMs: number }
  }
  portals: Record<Portal, PortalIdentity>
  passwords: {
    /** zxcvbn score, 0 to 4. */
    minimumScore: number
    /** Words that add no strength to a password, such as the name of the deployment. */
    blocklist: string[]
    /** Lifetime of a mailed reset link, and of the token that a registration returns. */
    resetTtlMs: number
    initTtlMs: number
  }
  mfa: {
    /** The name that an authenticator app shows. */
    issuer: string
    /** How long a new authenticator secret can be verified. */
    setupTtlMs: number
    /** How long a step-up is valid. */
    stepUpMs: number
  }
  secureChannel: {
    sessionTtlMs: number
    /** Lifetime of a key, and the last part of it, in which its successor is already offered. */
    keyTtlMs: number
    keyOverlapMs: number
    /** Maximum number of channel sessions per portal. */
    maxSessions: number
    /** Maximum difference between `iat` of a key exchange and now. */
    maxClockDifferenceMs: number
    /** Size of the replay window, in sequence numbers. */
    windowSize: number
    /** Maximum number of channel sessions cached per replica. */
    cacheSize: number
  }
}

/** Settings that no deployment can change. */
export const fixedSettings = {
  tokens: { cacheSize: 20_000, refreshReuseMs: 30_000 },
  sessions: { cacheTtlMs: 1_000, activityIntervalMs: 60_000, cacheSize: 20_000 },
  secureChannel: { maxClockDifferenceMs: 60_000, windowSize: 256, cacheSize: 10_000 },
} satisfies { [Part in keyof IdentitySettings]?: Partial<IdentitySettings[Part]> }
