import type { DomainParts, LoadedDomain } from '../../api/domain.ts'
import { type Configuration, ConfigurationError, placeOf } from '../../config/index.ts'
import { isPassThrough, type Operation, withCallSite } from '../../kernel/index.ts'

type Parts = DomainParts<Readonly<Record<string, Operation>>>

/** Each domain follows the domains that it uses. Throws a ConfigurationError for unknown domains and for cycles. */
export function inOrderOfUse(domains: readonly LoadedDomain[]): readonly LoadedDomain[] {
  const names = new Set(domains.map(({ name }) => name))
  const errors = domains.flatMap(({ source, uses = [] }) =>
    uses
      .filter((name) => !names.has(name))
      .map((name) => `${source}: uses: no domain has the name ${name}; add its module to extensions, or remove it`),
  )
  if (errors.length > 0) throw new ConfigurationError(errors)
  const ordered = new Set<LoadedDomain>()
  const visit = (domain: LoadedDomain, path: readonly string[]): void => {
    if (ordered.has(domain)) return
    if (path.includes(domain.name))
      throw new ConfigurationError([
        `${domain.source}: uses itself: ${[...path, domain.name].join(', ')}; remove one of these`,
      ])
    for (const name of domain.uses ?? []) {
      const used = domains.find((each) => each.name === name)
      if (used) visit(used, [...path, domain.name])
    }
    ordered.add(domain)
  }
  for (const domain of domains) visit(domain, [])
  return [...ordered]
}

/** Each error names the file and line of the domain's declaration. */
export function partErrors(
  domain: LoadedDomain,
  { handlers, jobs = [], gatewayJobs = [] }: Parts,
  settings: Pick<Configuration, 'backends'>,
): string[] {
  const { name, source, operations, isOurs, isRemote } = domain
  const isHandled = ([key, { id }]: [string, Operation]): boolean =>
    handlers instanceof Map
      ? isOurs || isRemote === true || handlers.has(id)
      : typeof Reflect.get(handlers, key) === 'function'
  const errors = [
    ...Object.entries(operations)
      .filter((entry) => !isPassThrough(entry[1]) && !isHandled(entry))
      .map(([key]) => `create: ${key} has no handler; add it to \`handlers\``),
    ...Object.entries(operations)
      .filter((entry) => entry[1].reply === 'events' && placeOf(settings, name) === 'in-process' && !isHandled(entry))
      .map(([key]) => `create: ${key} has no handler; add it to \`handlers\`, or set backends.${name} to a service`),
    ...(handlers instanceof Map ? [] : Object.keys(handlers))
      .filter((key) => !Object.hasOwn(operations, key))
      .map((key) => `create: the handler ${key} has no operation; declare it or remove the handler`),
    ...[...jobs, ...gatewayJobs]
      .filter((job) => !job.name.startsWith(`${name}.`))
      .map((job) => `create: the name of job ${job.name} must begin with ${name}.`),
  ]
  return errors.map((error) => withCallSite(`${source}: ${error}`, domain))
}
