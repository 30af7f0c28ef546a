import { z } from 'zod'
import { type Configuration, ConfigurationError, type PassThroughPrefix, portalMounts } from '../config/index.ts'
import type { Catalogue } from '../contract/index.ts'
import type { PrefixRoute } from '../gateway/index.ts'
import {
  chainsWith,
  createChainFinder,
  needsApiKey,
  type Operation,
  type PortalMount,
  rateGroups,
  type ServedChain,
} from '../kernel/index.ts'

export interface PassThrough {
  route: PrefixRoute
  place: PassThroughPrefix
}

export function operationsBelow(prefixes: readonly PassThrough[]): Operation[] {
  return prefixes.map(({ route }) => route.operation)
}

export function passThroughOf(
  { passThrough, publicUrl, portals }: Pick<Configuration, 'passThrough' | 'publicUrl' | 'portals'>,
  catalogue: Catalogue,
): PassThrough[] {
  const mounts = portalMounts(portals)
  const findChain = createChainFinder(mounts)
  const errors = passThrough.flatMap((place, index) => {
    const others = passThrough.filter((_, at) => at !== index)
    return prefixErrors(place, others, catalogue, mounts).map((error) => `passThrough.${index}.${error}`)
  })
  if (errors.length > 0) throw new ConfigurationError(errors)
  const prefixes = passThrough.map((place): PassThrough => {
    const { prefix, methods, requestHeaders, responseHeaders } = place
    const served = findChain(prefix)
    const accepted = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
    const operation = toOperation(place, served)
    const below = { prefix, requestHeaders, responseHeaders, publicHost: new URL(publicUrl).host }
    return { place, route: { ...below, ...served, operation, methods: new Set(accepted) } }
  })
  const ids = prefixes.map(({ route }) => route.operation.id)
  const repeated = ids.findIndex(
    (id, index) => ids.indexOf(id) !== index || catalogue.operations.some((o) => o.id === id),
  )
  if (repeated >= 0)
    throw new ConfigurationError([`passThrough.${repeated}.name: ${ids[repeated]} is used twice; choose another name`])
  return prefixes
}

function prefixErrors(
  place: PassThroughPrefix,
  others: readonly PassThroughPrefix[],
  catalogue: Catalogue,
  mounts: readonly PortalMount[],
) {
  const { prefix } = place
  const { chain: above } = createChainFinder(mounts)(prefix)
  if (!prefix.startsWith(`${above.prefix}/`)) return ['prefix: must be below a chain, such as /web/v1/consumer/legacy']
  if (needsApiKey(above)) return [`prefix: cannot be below ${above.prefix}; use another chain`]
  const all = chainsWith(mounts)
  const shadowed = catalogue.operations.flatMap(({ id, method, path, chains: ids }) =>
    all
      .filter(({ chainId }) => ids.includes(chainId))
      .map(({ chain }) => chain.prefix + path)
      .filter((whole) => isBelow(prefix, whole))
      .map((whole) => `prefix: contains ${method} ${whole} (${id}); use a longer prefix`),
  )
  const chain = all.map((each) => each.chain).find((each) => `${each.prefix}/`.startsWith(`${prefix}/`))
  return [
    ...(chain ? [`prefix: contains the chain ${chain.prefix}; use a longer prefix`] : []),
    ...shadowed.slice(0, 1),
    ...others
      .filter((each) => isBelow(each.prefix, prefix))
      .map((each) => `prefix: is below ${each.prefix}; use another prefix`),
    ...permissionErrors(place, catalogue),
    ...rateErrors(place, catalogue),
  ]
}

/** A parameter matches every segment. */
function isBelow(prefix: string, path: string): boolean {
  const segments = segmentsOf(path)
  return segmentsOf(prefix).every((each, at) => segments[at] === each || segments[at]?.startsWith('{'))
}

function segmentsOf(path: string): string[] {
  return path.split('/').slice(1)
}

function permissionErrors({ policy }: PassThroughPrefix, catalogue: Catalogue): string[] {
  const { permission, workspace } = policy
  if (permission === null) return []
  const known = workspace === 'none' ? catalogue.operatorPermissions : catalogue.workspacePermissions
  return known.includes(permission)
    ? []
    : [`policy.permission: ${permission} is not declared; use a permission of a domain`]
}

function rateErrors({ policy }: PassThroughPrefix, catalogue: Catalogue): string[] {
  return [...rateGroups, ...catalogue.rateGroups.keys()].includes(policy.rate)
    ? []
    : [`policy.rate: no rate limit group has the name ${policy.rate}; use one of \`limits.groups\``]
}

/** Stands for every request below the prefix in logs, metrics and the pipeline. */
function toOperation({ prefix, name, policy }: PassThroughPrefix, { chainId, chain }: ServedChain): Operation {
  const path = prefix.slice(chain.prefix.length)
  return {
    id: `passThrough.${name ?? camelCase(path)}`,
    method: 'GET',
    path,
    chains: [chainId],
    summary: `Requests below ${prefix}`,
    policy: { ...policy, channel: 'none', idempotent: false, changesRights: false },
    params: { method: z.string().max(10), target: z.string().max(2_048) },
    confirms: ['method', 'target'],
    body: 'raw',
    reply: 'raw',
    refuses: [],
  }
}

function camelCase(path: string): string {
  return path
    .split(/[^A-Za-z0-9]+/)
    .filter(Boolean)
    .map((word, index) => (index === 0 ? word : word.charAt(0).toUpperCase() + word.slice(1)))
    .join('')
}
