import type { Portal } from '../kernel/index.ts'

/** So many within a window. */
export interface Allowance {
  limit: number
  windowMs: number
}

/** What differs between the portals. */
interface PortalIdentity {
  /** Whether anybody may make an account here, and whether an operator has to approve it. */
  selfRegistration: 'closed' | 'open' | 'approval'
  /** The pages that mails lead to, as whole addresses. The link to set a password carries its token in the fragment. */
  links: { signIn: string; passwordReset: string }
  /** Codes sent to one account, or to one address that registers. */
  codeSends: Allowance
  /** Reset links asked for with one e-mail. */
  forgot: Allowance
}

/** What identity goes by. Durations are milliseconds. */
export interface IdentitySettings {
  tokens: {
    /** `iss` of every token. */
    issuer: string
    accessTtlMs: number
    /** How long call assertions are good, which the same keys sign. */
    assertionTtlMs: number
    /** How far two replicas' clocks may differ; exact, and the same for every time claim. */
    clockSkewMs: number
    /** How long a new signing key is published before it signs; longer than any copy of the JWKS is kept. */
    keyPublicationMs: number
    /** How long a replica goes by the signing keys that it has read. */
    keyRefreshMs: number
    /** Verified tokens remembered per replica. */
    verifiedTokens: number
    /** How long a used refresh token still yields the same successor. */
    refreshReuseMs: number
  }
  sessions: {
    idleMs: number
    absoluteMs: number
    /** `max_sessions` of a new account. */
    maxConcurrent: number
    /** How long a replica believes that a session lives; at most a second. */
    livenessMs: number
    /** Activity is written down at most this often. */
    activityMs: number
    /** Sessions whose liveness is remembered per replica. */
    remembered: number
  }
  login: {
    sessionTtlMs: number
    /** Steps of logins at once, of those that begin and of those under way, and how many of each may wait. */
    concurrency: number
    queue: number
    attempts: number
    codeTtlMs: number
    resendMs: number
    /** Failures of one e-mail within a window; beyond the limit the wait begins at `firstWaitMs` and doubles. */
    failures: Allowance & { firstWaitMs: number; longestWaitMs: number }
  }
  portals: Record<Portal, PortalIdentity>
  passwords: {
    /** Of zxcvbn's 0 to 4. */
    minimumScore: number
    /** Words that make a password no stronger: the deployment's own name, say. */
    blocklist: string[]
    /** How long a mailed link, and the token at the end of a registration, are good. */
    resetTtlMs: number
    initTtlMs: number
  }
  mfa: {
    /** The name under which an authenticator shows its codes. */
    issuer: string
    /** How long a secret that was set up waits to be verified. */
    setupTtlMs: number
    /** How long a step-up counts. */
    stepUpMs: number
  }
  secureChannel: {
    sessionTtlMs: number
    /** A key's whole life, and the last part of it in which its successor is handed out already. */
    keyTtlMs: number
    keyOverlapMs: number
    /** Maximum number of sessions of one portal. */
    maxSessions: number
    /** How far the `iat` of an opening may be from now. */
    openingMs: number
    /** Sequence numbers that may overtake one another. */
    window: number
    /** Sessions that are remembered per replica with their keys. */
    remembered: number
  }
}

/** What no deployment decides. */
export const fixedSettings = {
  tokens: { verifiedTokens: 20_000, refreshReuseMs: 30_000 },
  sessions: { livenessMs: 1_000, activityMs: 60_000, remembered: 20_000 },
  secureChannel: { openingMs: 60_000, window: 256, remembered: 10_000 },
} satisfies { [Part in keyof IdentitySettings]?: Partial<IdentitySettings[Part]> }
