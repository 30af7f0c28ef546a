import type { Configuration, LimitRule, PortalConfiguration } from '../config/index.ts'
import { type Portal, Refusal } from '../kernel/index.ts'
import type { ProviderSettings } from './providers/settings.ts'

export type WindowLimit = LimitRule

/** Settings that no deployment can change, in milliseconds. */
export const fixedSettings = {
  /** `cacheSize`: verified tokens per replica. */
  tokens: { cacheSize: 20_000 },
  /**
   * `cacheTtlMs`: lifetime of a cached session or whitelist. `activityIntervalMs`: minimum time between two writes of
   * activity or of a whitelist match. `cacheSize`: entries per cache and replica.
   */
  sessions: { cacheTtlMs: 1_000, activityIntervalMs: 60_000, cacheSize: 20_000 },
  /**
   * `maxClockDifferenceMs`: maximum difference between the clock and `iat` of a key exchange. `windowSize`: sequence
   * numbers per replay window. `cacheSize`: channel sessions per replica.
   */
  secureChannel: { maxClockDifferenceMs: 60_000, windowSize: 256, cacheSize: 10_000 },
}

/** How long a replica uses what it has read, and whether there are others. A change is confirmed only after that time. */
export interface Lease {
  ms: number
  shared: boolean
}

export type PasskeySettings = NonNullable<PortalConfiguration['passkeys']>

interface PortalIdentity
  extends Pick<PortalConfiguration, 'selfRegistration' | 'refusedDomains' | 'links' | 'mfa' | 'passkeys'> {
  /** Per account, or per address during registration. */
  codeSends: WindowLimit
  /** Limit on mails about registrations of one address, in addition to `codeSends`. */
  registrationMails: WindowLimit
  /** Per email address. */
  forgot: WindowLimit
  providers: readonly ProviderSettings[]
}

export interface IdentitySettings extends Pick<Configuration, 'login' | 'mfa' | 'notices'> {
  /** `assertionTtlMs` is the lifetime of call assertions. The same keys sign tokens and call assertions. */
  tokens: Configuration['tokens'] & typeof fixedSettings.tokens & { assertionTtlMs: number }
  sessions: Configuration['sessions'] & typeof fixedSettings.sessions & { lease: Lease }
  /** Every deployment has the first two. */
  portals: Record<'CONSUMER' | 'SYSTEM', PortalIdentity> & Record<Portal, PortalIdentity>
  carrierDomains: readonly string[]
  passwords: Pick<Configuration['passwords'], 'minimumScore' | 'blocklist' | 'resetTtlMs' | 'initTtlMs'>
  /** A thief may have added what is younger. */
  suspicionMs: number
  secureChannel: Configuration['secureChannel'] & typeof fixedSettings.secureChannel
}

/**
 * The settings of a portal. Throws ACCESS.TOKEN_INVALID for one that the configuration no longer has: the store keeps its
 * accounts, which cannot act.
 */
export function rulesOf<Rules>(
  { portals }: { portals: Readonly<Partial<Record<Portal, Rules>>> },
  portal: Portal,
): Rules {
  const rules = Object.hasOwn(portals, portal) ? portals[portal] : undefined
  if (!rules) throw new Refusal('ACCESS.TOKEN_INVALID', { internal: `the configuration has no portal ${portal}` })
  return rules
}
