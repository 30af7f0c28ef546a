import type { Domain, LoadedDomain } from '../api/domain.ts'
import type { Configuration } from '../config/index.ts'
import type { SchemaOwner } from '../database/index.ts'
import { bankingDomains } from '../domains/index.ts'
import { loadDomains } from '../extensions/index.ts'
import { schemaOwnersOf, switchOff } from './extensions.ts'

/** The domains of a process. */
export interface Loaded {
  /** The domains that are not switched off. */
  domains: readonly LoadedDomain[]
  /** All owners of tables. A domain that is off keeps its tables, because other tables reference them. */
  owners: readonly SchemaOwner[]
}

const ours: ReadonlySet<Domain> = new Set(bankingDomains)

/**
 * Loads the given domains and those of the configured extensions, without those that are off. Throws a ConfigurationError
 * that lists every error.
 */
export const loadConfigured = async (
  domains: readonly Domain[],
  settings: Pick<Configuration, 'extensions' | 'operations' | 'domains'>,
): Promise<Loaded> => {
  const all = await loadDomains(domains, ours, settings)
  return { domains: switchOff(all, settings), owners: schemaOwnersOf(all) }
}
