import type { Configuration, LimitRule, PortalConfiguration } from '../config/index.ts'
import type { Portal } from '../kernel/index.ts'

/** Maximum number of events within a window. */
export type WindowLimit = LimitRule

/** Settings that no deployment can change. Durations are milliseconds. */
export const fixedSettings = {
  /** Maximum number of verified tokens cached per replica, and how long a used refresh token returns the same successor. */
  tokens: { cacheSize: 20_000, refreshReuseMs: 30_000 },
  /**
   * How long a replica caches a session or a whitelist (at most a second), the minimum interval between two writes of a
   * session's activity or of a whitelist match, and the maximum number of sessions cached per replica.
   */
  sessions: { cacheTtlMs: 1_000, activityIntervalMs: 60_000, cacheSize: 20_000 },
  /**
   * Maximum difference between `iat` of a key exchange and now, size of the replay window in sequence numbers, and maximum
   * number of channel sessions cached per replica.
   */
  secureChannel: { maxClockDifferenceMs: 60_000, windowSize: 256, cacheSize: 10_000 },
}

/** The settings of one portal. The links are absolute URLs. */
interface PortalIdentity extends Pick<PortalConfiguration, 'selfRegistration' | 'links'> {
  /** Limit on the codes that are mailed to one account, or to one address that registers. */
  codeSends: WindowLimit
  /** Limit on the reset links that are requested for one e-mail address. */
  forgot: WindowLimit
}

/** Settings of identity: sections of the configuration, which documents them, together with the fixed ones. */
export interface IdentitySettings extends Pick<Configuration, 'login' | 'mfa'> {
  /** `assertionTtlMs` is the lifetime of call assertions, which the same keys sign. */
  tokens: Configuration['tokens'] & typeof fixedSettings.tokens & { assertionTtlMs: number }
  sessions: Configuration['sessions'] & typeof fixedSettings.sessions
  portals: Record<Portal, PortalIdentity>
  passwords: Pick<Configuration['passwords'], 'minimumScore' | 'blocklist' | 'resetTtlMs' | 'initTtlMs'>
  secureChannel: Configuration['secureChannel'] & typeof fixedSettings.secureChannel
}
