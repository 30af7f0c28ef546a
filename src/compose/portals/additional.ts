import {
  type Configuration,
  ConfigurationError,
  additionalPortals as declaredPortals,
  offersDomain,
} from '../../config/index.ts'
import type { Catalogue } from '../../contract/index.ts'
import type { AdditionalPortal } from '../../gateway/index.ts'
import { accountPortal, chains, domainOf, type Operation } from '../../kernel/index.ts'

/**
 * The portals besides CONSUMER and SYSTEM with the operations that they offer: all of the gateway itself, such as sign-in,
 * and those of their `domains`. Throws a ConfigurationError.
 */
export function additionalPortals(
  { portals }: Pick<Configuration, 'portals'>,
  catalogue: Pick<Catalogue, 'operations' | 'isRoutable' | 'routableDomains'>,
): AdditionalPortal[] {
  const declared = declaredPortals(portals)
  const errors = declared.flatMap(([name, { prefix, domains = 'all' }]) => [
    ...(domains === 'all' ? [] : domains)
      .filter((domain) => domain !== 'passThrough' && !catalogue.routableDomains.includes(domain))
      .map((domain) => `portals.${name}.domains: no domain has the name ${domain}; correct it or remove it`),
    ...catalogue.operations
      .filter((operation) => beginsWith(operation, prefix))
      .slice(0, 1)
      .map(({ id, method, path }) => {
        const whole = chains.shared.prefix + path
        return `portals.${name}.prefix: is the first segment of ${method} ${whole} (${id}); use another prefix`
      }),
  ])
  if (errors.length > 0) throw new ConfigurationError(errors)
  return declared.flatMap(([portal, settings]): AdditionalPortal[] => {
    const { prefix } = settings
    const offers = ({ id }: Operation): boolean => {
      const domain = domainOf(id)
      return !catalogue.isRoutable(domain) || offersDomain(settings, domain)
    }
    return prefix === undefined ? [] : [{ portal, prefix, offers }]
  })
}

/** Adds the portals of the deployment to the coded value `accountPortal`. */
export function withPortals(catalogue: Catalogue, { portals }: Pick<Configuration, 'portals'>): Catalogue {
  const added = declaredPortals(portals).map(([name, { code = 0 }]) => [name, code] as const)
  if (added.length === 0) return catalogue
  const values = { ...accountPortal.values, ...Object.fromEntries(added) }
  const family = { name: accountPortal.name, values, codes: Object.keys(values) }
  return { ...catalogue, codedFamilies: new Map([...catalogue.codedFamilies, [family.name, family]]) }
}

/** The label and description of each portal. They are the same in every language. */
export function portalTexts({ portals }: Pick<Configuration, 'portals'>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    declaredPortals(portals).flatMap(([portal, { name = portal }]) => [
      [`coded.${accountPortal.name}.${portal}.label`, name],
      [`coded.${accountPortal.name}.${portal}.description`, name],
    ]),
  )
}

/** Whether the path of a shared operation could be one below the prefix. A parameter matches every segment. */
function beginsWith({ chains: ids, path }: Operation, prefix: string | undefined): boolean {
  const [, first = ''] = path.split('/')
  return ids.includes('shared') && (first === prefix || first.startsWith('{'))
}
