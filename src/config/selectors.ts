import { type Portal, type RateGroup, rateGroups } from '../kernel/index.ts'
import type { Configuration, GroupRules, LimitRule, UpstreamConfiguration } from './schema.ts'

/** What is allowed at one portal. */
export interface PortalLimits {
  /** Of any one address, over all operations. */
  address: LimitRule
  /** Whether that rule is the portal's own, and so counts by itself. */
  isAddressOwn: boolean
  groups: ReadonlyMap<RateGroup, GroupRules>
}

/** `limits`, with the portal's own rules laid over them one by one; without a portal, `limits` themselves. */
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

/** Where a domain is served: where it is placed by its name, else by `default`, else in this process. */
export const placeOf = (
  { backends }: Pick<Configuration, 'backends'>,
  domain: string,
): UpstreamConfiguration | 'in-process' => backends[domain] ?? backends.default ?? 'in-process'
