import type { Domain, LoadedDomain } from '../api/domain.ts'
import type { Configuration } from '../config/index.ts'
import { bankingDomains } from '../domains/index.ts'
import { loadDomains } from '../extensions/index.ts'
import { switchOff } from './extensions.ts'

const ours: ReadonlySet<Domain> = new Set(bankingDomains)

/**
 * Returns the domains of a process: the given ones and those of the configured extensions, without those that are off.
 * Throws a ConfigurationError that lists every error.
 */
export const loadConfigured = async (
  domains: readonly Domain[],
  settings: Pick<Configuration, 'extensions' | 'domains'>,
): Promise<readonly LoadedDomain[]> => switchOff(await loadDomains(domains, ours, settings.extensions), settings)
