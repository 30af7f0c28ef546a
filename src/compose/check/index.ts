/*
 * The checks of `portico config check` in three phases: the shape of each domain, the catalogue of all, and their `create`
 * functions, which `handlers.ts` calls without a store. Each phase continues after an error, so that one run reports all.
 */
import type { Domain, LoadedDomain } from '../../api/domain.ts'
import type { Variables } from '../../config/env.ts'
import { type Configuration, ConfigurationError, tlsFileErrors } from '../../config/index.ts'
import { bankSwitch } from '../../extensions/index.ts'
import { openSites } from '../../gateway/index.ts'
import { systemClock } from '../../platform/runtime/index.ts'
import { mailTextsOf, wordsOf } from '../catalogue.ts'
import {
  assertBackends,
  assertPresent,
  enabledDomains,
  joinDomains,
  loadAll,
  readSettings,
  withDomainLimits,
} from '../extensions.ts'
import { operationsBelow, passThroughOf } from '../pass-through.ts'
import { additionalPortals, withPortals } from '../portals/additional.ts'
import { checkHandlers } from './handlers.ts'
import { inOrderOfUse } from './parts.ts'

export interface ConfigurationCheck {
  /** The enabled domains. */
  domains: readonly LoadedDomain[]
  /** With the default limits of the domains. */
  settings: Configuration
  errors: readonly string[]
  /** Domains whose handlers are checked only at start, with the reason. */
  skipped: readonly string[]
}

/** Runs every check of the configuration and the domains, also after errors. Needs no store. */
export async function checkConfiguration(
  given: readonly Domain[],
  configured: Configuration,
  variables: Variables,
): Promise<ConfigurationCheck> {
  const { domains: all, errors: loadErrors, isComplete } = await loadAll(given, configured)
  const errors = [...loadErrors]
  /** Returns undefined after an error. */
  const attempt = async <Result>(check: () => Result | Promise<Result>): Promise<Result | undefined> => {
    try {
      return await check()
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error
      errors.push(...error.errors)
      return undefined
    }
  }
  const settings = isComplete ? configured : withoutUnknownNames(configured, all)
  // Domains that cannot be off are missing in the enabled ones.
  const domains = (await attempt(() => enabledDomains(all, settings))) ?? all
  if (isComplete) await attempt(() => inOrderOfUse(domains))
  const { catalogue: joined, errors: catalogueErrors } = joinDomains(domains)
  const catalogue = withPortals(joined, settings)
  errors.push(...catalogueErrors)
  const limited = isComplete ? await attempt(() => withDomainLimits(settings, catalogue)) : undefined
  await attempt(() => assertBackends(domains, catalogue, settings))
  await attempt(() => openSites(settings, () => undefined))
  errors.push(...tlsFileErrors(settings, variables.NODE_EXTRA_CA_CERTS, systemClock.now()))
  const passThrough = (await attempt(() => passThroughOf(settings, catalogue))) ?? []
  await attempt(() => assertPresent(domains, settings, operationsBelow(passThrough)))
  await attempt(() => mailTextsOf(domains))
  await attempt(() => additionalPortals(settings, catalogue))
  const words = await attempt(() => wordsOf(catalogue, domains, settings))
  const parsed = readSettings(domains, settings)
  const handlers = await checkHandlers(domains, {
    configuration: settings,
    catalogue: catalogueErrors.length === 0 ? catalogue : undefined,
    words,
    settings: parsed.settings,
  })
  errors.push(...parsed.errors, ...handlers.errors)
  // The checks of a domain and of the catalogue overlap.
  return { domains, settings: limited ?? settings, errors: [...new Set(errors)], skipped: handlers.skipped }
}

/** Domains that could not be loaded may have the names to which the configuration refers. */
function withoutUnknownNames(settings: Configuration, domains: readonly LoadedDomain[]): Configuration {
  const names = new Set(['default', bankSwitch, ...domains.map(({ name }) => name)])
  const known = <Value>(entries: Readonly<Record<string, Value>>) =>
    Object.fromEntries(Object.entries(entries).filter(([name]) => names.has(name)))
  return { ...settings, domains: known(settings.domains), backends: known(settings.backends) }
}
