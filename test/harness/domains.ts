import type { LoadedDomain } from '../../src/api/domain.ts'
import { schemaOwnersOf } from '../../src/compose/extensions.ts'
import type { Loaded } from '../../src/compose/loading.ts'
import { bankingDomains } from '../../src/domains/index.ts'

/** Portico's own domains, as a process loads them. */
export const loadedDomains: readonly LoadedDomain[] = bankingDomains.map((domain) => ({
  ...domain,
  source: `domains: ${domain.name}`,
  isOurs: true,
}))

/** The owners of tables in a process without extensions. */
export const schemaOwners = schemaOwnersOf(loadedDomains)

export const loaded: Loaded = { domains: loadedDomains, owners: schemaOwners }
