import type { LoadedDomain } from '../../src/api/domain.ts'
import { bankingDomains } from '../../src/banking/index.ts'
import { keyedColumnsOf, type Loaded, schemaOwnersOf } from '../../src/compose/extensions.ts'

export const loadedDomains: readonly LoadedDomain[] = bankingDomains.map((domain) => ({
  ...domain,
  source: `domains: ${domain.name}`,
  isOurs: true,
}))

/** The schema owners for processes without extensions. */
export const schemaOwners = schemaOwnersOf(loadedDomains)

export const loaded: Loaded = {
  domains: loadedDomains,
  owners: schemaOwners,
  keyedColumns: keyedColumnsOf(loadedDomains),
}
