import { type Portal, type RateGroup, rateGroups } from '../kernel/index.ts'
import type { Configuration, GroupRules, LimitRule, UpstreamConfiguration } from './schema.ts'

/** The limits that apply at one portal. */
export interface PortalLimits {
  /** Per client address, over all operations. */
  address: LimitRule
  /** Whether the rule is the portal's own and therefore counted separately. */
  isAddressOwn: boolean
  groups: ReadonlyMap<RateGroup, GroupRules>
}

/** The limits of a portal: its own rules where it has them, else those of `limits`. Without a portal, `limits`. */
export const limitsOf = (
  { limits, portals }: Pick<Configuration, 'limits' | 'portals'>,
  portal: Portal | null,
): PortalLimits => {
  const own = portal === null ? undefined : portals[portal].limits
  const rules = (group: RateGroup): GroupRules => ({ ...limits.groups[group], ...own?.groups?.[group] })
  return {
    address: own?.address ?? limits.address,
    isAddressOwn: own?.address !== undefined,
    groups: new Map(rateGroups.map((group) => [group, rules(group)])),
  }
}

/** Where a domain is served: by its own setting, else by `default`, else in this process. */
export const placeOf = (
  { backends }: Pick<Configuration, 'backends'>,
  domain: string,
): UpstreamConfiguration | 'in-process' => backends[domain] ?? backends.default ?? 'in-process'
