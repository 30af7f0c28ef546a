import { z } from 'zod'
import { hasWorkspaces, type Portal, type RateGroup, type RateGroups } from '../../kernel/index.ts'
import {
  anyAddress,
  groupRules,
  type limitRule,
  type PortalConfiguration,
  type Portals,
  settingsOfPortal,
} from './settings.ts'

export const limitSettings = z.strictObject({
  scale: z
    .number()
    .positive()
    .describe('Factor by which every rate limit is multiplied, for load tests. In production, it must be at most 1.'),
  address: anyAddress,
  groups: z
    .record(z.string(), groupRules)
    .describe(
      'Rate limits by operation group. Domains declare the defaults of their own groups. A group without an `account` limit uses the `account` limit of `general`.',
    ),
})

export type LimitRule = z.output<typeof limitRule>
type GroupRules = z.output<typeof groupRules>

export interface PortalLimits {
  address: LimitRule
  /** The portal's own address limit is counted separately. */
  isAddressOwn: boolean
  groups: ReadonlyMap<RateGroup, GroupRules>
}

type Limits = { limits: z.output<typeof limitSettings>; portals: Portals }

export function rateGroupErrors({ limits, portals }: Limits, known: ReadonlySet<string>): string[] {
  const places: [path: string, groups: readonly string[]][] = [
    ['limits.groups', Object.keys(limits.groups)],
    ...Object.entries(portals).flatMap(([name, { limits: own, channelMandatory }]): [string, readonly string[]][] => [
      [`portals.${name}.limits.groups`, Object.keys(own?.groups ?? {})],
      [`portals.${name}.channelMandatory`, channelMandatory],
    ]),
  ]
  return places.flatMap(([path, groups]) =>
    groups
      .filter((group) => !known.has(group))
      .map((group) => `${path}: no rate limit group has the name ${group}; correct it or remove it`),
  )
}

/** `known` are the permissions of workspace roles and of operators. */
export function requiredPasskeyErrors(
  { portals }: Pick<Limits, 'portals'>,
  known: { workspacePermissions: readonly string[]; operatorPermissions: readonly string[] },
): string[] {
  return Object.entries(portals).flatMap(([portal, { mfa }]) => {
    const [codes, owners] = hasWorkspaces(portal)
      ? [known.workspacePermissions, 'workspace roles']
      : [known.operatorPermissions, 'operators']
    const { passkey } = mfa.required
    const unknown = typeof passkey === 'string' ? [] : passkey.filter((code) => !codes.includes(code))
    const field = `portals.${portal}.mfa.required.passkey`
    return unknown.map((code) => `${field}: no permission of ${owners} has the code ${code}; correct it`)
  })
}

export function withRateGroups<Settings extends Pick<Limits, 'limits'>>(
  settings: Settings,
  declared: RateGroups,
): Settings {
  const { groups } = settings.limits
  const merged = Object.entries(declared).map(([name, rules]) => [name, { ...rules, ...groups[name] }] as const)
  return { ...settings, limits: { ...settings.limits, groups: { ...groups, ...Object.fromEntries(merged) } } }
}

/** Puts the limits of `changed` in force. Everything else reads them from `settings` for each request. */
export function replaceLimits(settings: Limits, { limits, portals }: Limits): void {
  const withLimits = ({ limits: _, ...rest }: PortalConfiguration, name: Portal): PortalConfiguration => {
    const own = portals[name]?.limits
    return own ? { ...rest, limits: own } : rest
  }
  const { CONSUMER, SYSTEM, ...others } = settings.portals
  const additional = Object.entries(others).map(([name, portal]) => [name, withLimits(portal, name)] as const)
  settings.limits = limits
  settings.portals = {
    CONSUMER: withLimits(CONSUMER, 'CONSUMER'),
    SYSTEM: withLimits(SYSTEM, 'SYSTEM'),
    ...Object.fromEntries(additional),
  }
}

export function limitsOf({ limits, portals }: Limits, portal: Portal | null): PortalLimits {
  const own = portal === null ? undefined : settingsOfPortal(portals, portal).limits
  const rules = (group: RateGroup): GroupRules => ({ ...limits.groups[group], ...own?.groups?.[group] })
  return {
    address: own?.address ?? limits.address,
    isAddressOwn: own?.address !== undefined,
    groups: new Map(Object.keys(limits.groups).map((group) => [group, rules(group)])),
  }
}
