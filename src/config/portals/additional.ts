import {
  accountPortal,
  chains,
  fixedPortals,
  hasWorkspaces,
  isRecord,
  type Portal,
  type PortalMount,
} from '../../kernel/index.ts'
import { mergeSettings } from '../domain-settings.ts'
import { valueAt } from '../values.ts'
import type { PortalConfiguration, Portals } from './settings.ts'

const maxAdditional = 8
const namePattern = /^[A-Z][A-Z0-9_]{1,31}$/

/** The portals besides CONSUMER and SYSTEM, in the order of their names. */
export function additionalPortals(portals: Portals): [name: Portal, settings: PortalConfiguration][] {
  return Object.entries(portals)
    .filter(([name]) => !isFixed(name))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
}

/** The names of all portals. Those of every deployment are first. */
export function portalNames(portals: Portals): Portal[] {
  return [...fixedPortals, ...additionalPortals(portals).map(([name]) => name)]
}

export function portalMounts(portals: Portals): PortalMount[] {
  return additionalPortals(portals).flatMap(([portal, { prefix }]) =>
    prefix === undefined ? [] : [{ portal, prefix }],
  )
}

/** Whether the portal offers a domain. SYSTEM and CONSUMER offer all of them. */
export function offersDomain({ domains = 'all' }: Pick<PortalConfiguration, 'domains'>, domain: string): boolean {
  return domains === 'all' || domains.includes(domain)
}

/**
 * Lays the defaults of CONSUMER below each additional portal. Who reaches a portal is not a default: its access codes, its edge,
 * and what it serves.
 */
export function withPortalDefaults(tree: unknown, defaults: unknown): unknown {
  const portals = valueAt(tree, 'portals')
  const consumer = valueAt(defaults, 'portals.CONSUMER')
  if (!isRecord(portals) || !isRecord(consumer)) return tree
  const { accessCodes: _codes, edge: _edge, ...safe } = consumer
  const own = Object.entries(portals)
    .filter(([name, portal]) => !isFixed(name) && isRecord(portal))
    .map(([name, portal]) => [name, mergeSettings({ ...safe, domains: 'all' }, portal)] as const)
  return mergeSettings(tree, { portals: Object.fromEntries(own) })
}

export function additionalPortalErrors(portals: Portals): string[] {
  const additional = additionalPortals(portals)
  const fixedCodes = Object.entries(accountPortal.values)
  return [
    ...(additional.length > maxAdditional ? [`portals: at most ${maxAdditional} additional portals; remove some`] : []),
    ...additional.flatMap(([name, settings], index) => {
      const earlier = additional.slice(0, index)
      const path = `portals.${name}`
      const samePrefix = earlier.find(([, { prefix }]) => prefix === settings.prefix)
      const sameCode = [...earlier.map(([other, { code }]) => [other, code] as const), ...fixedCodes].find(
        ([, code]) => code === settings.code,
      )
      return [
        ...(namePattern.test(name)
          ? []
          : [
              `${path}: the name of a portal has 2 to 32 capital letters, digits and underscores, and begins with a letter`,
            ]),
        ...(isTaken(settings.prefix) ? [`${path}.prefix: is the prefix of another chain; use another one`] : []),
        ...(samePrefix ? [`${path}.prefix: must differ from that of ${samePrefix[0]}`] : []),
        ...(sameCode ? [`${path}.code: must differ from that of ${sameCode[0]}`] : []),
        ...(settings.app !== null && settings.hosts.length === 0
          ? [`${path}.app: needs ${path}.hosts, because /portal of all other hosts belongs to CONSUMER`]
          : []),
        ...(settings.app !== null && settings.domains !== 'all'
          ? [`${path}.app: needs ${path}.domains: all, because the application uses all of them`]
          : []),
      ]
    }),
  ]
}

/** Portals where people register and belong to workspaces. */
export function workspacePortals(portals: Portals): [name: Portal, settings: PortalConfiguration][] {
  return portalNames(portals)
    .filter(hasWorkspaces)
    .flatMap((name) => (portals[name] ? [[name, portals[name]] as [Portal, PortalConfiguration]] : []))
}

/** `consumer`, `system` and `users`. */
function isTaken(prefix: string | undefined): boolean {
  return Object.values(chains).some((chain) => chain.prefix.split('/')[3] === prefix)
}

function isFixed(name: string): boolean {
  return fixedPortals.some((fixed) => fixed === name)
}
