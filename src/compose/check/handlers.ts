import type { LoadedDomain } from '../../api/domain.ts'
import type { DomainPorts } from '../../api/ports.ts'
import { type Configuration, ConfigurationError } from '../../config/index.ts'
import type { Catalogue } from '../../contract/index.ts'
import { selectPorts } from '../../extensions/index.ts'
import { messageOf, type Portal, type Words, withCallSite } from '../../kernel/index.ts'
import { countryPorts } from '../../platform/countries.ts'
import { systemClock, systemIds, systemRandomness } from '../../platform/runtime/index.ts'
import { createLogger } from '../../platform/telemetry/index.ts'
import { declarationPorts } from '../catalogue.ts'
import { signInUrlOf } from '../identity.ts'
import { partErrors } from './parts.ts'

/** A port was used that exists only in a running process, or whose part of the configuration is invalid. */
class PortUnavailable extends Error {}

/** `create` calls `provideFunds`, because a house account pays out only what it has. */
const ledger = unavailablePort('ledger', { provideFunds: () => Promise.resolve() })

/** The ports that need no store. A part is undefined if it is invalid. */
export interface CheckedParts {
  configuration: Configuration
  catalogue: Catalogue | undefined
  words: Words | undefined
  /** By domain. */
  settings: ReadonlyMap<string, unknown>
}

export interface HandlerCheck {
  errors: readonly string[]
  /** Their `create` function needs a store, so their handlers are checked only at start. */
  skipped: readonly string[]
}

/** Checks the handlers without a store. */
export async function checkHandlers(domains: readonly LoadedDomain[], parts: CheckedParts): Promise<HandlerCheck> {
  const checks: HandlerCheck[] = []
  for (const domain of domains.filter(({ isOurs, isRemote }) => !isOurs && !isRemote))
    checks.push(await checkDomain(domain, parts))
  return {
    errors: checks.flatMap(({ errors }) => errors),
    skipped: checks.flatMap(({ skipped }) => skipped),
  }
}

/** A call throws PortUnavailable, except for the methods in `available`. */
function unavailablePort(name: string, available: object = {}): object {
  return new Proxy(() => undefined, {
    get: (_target, key) => {
      // `await` reads `then`, and the runtime reads symbols.
      if (typeof key === 'symbol' || key === 'then') return undefined
      return Reflect.get(available, key) ?? unavailablePort(`${name}.${key}`)
    },
    apply: () => {
      throw new PortUnavailable(name)
    },
  })
}

/** The causes of an error in `create` are unknown if its ports are incomplete. */
async function checkDomain(domain: LoadedDomain, parts: CheckedParts): Promise<HandlerCheck> {
  const { name, source } = domain
  const skip = (reason: string) => ({
    errors: [],
    skipped: [`${source}: ${reason}; its handlers are checked at start`],
  })
  try {
    const created = await domain.create(portsFor(domain, parts))
    const errors = partErrors(domain, created, parts.configuration)
    await created.close?.()
    return { errors, skipped: [] }
  } catch (error) {
    if (error instanceof ConfigurationError) return { errors: error.errors, skipped: [] }
    if (error instanceof PortUnavailable) return skip(`create calls ${error.message}`)
    const isComplete = parts.catalogue && parts.words && parts.settings.has(name)
    return isComplete
      ? { errors: [withCallSite(`${source}: create: ${messageOf(error)}`, domain)], skipped: [] }
      : skip('create needs the configuration')
  }
}

function portsFor(domain: LoadedDomain, { configuration, catalogue, words, settings }: CheckedParts): DomainPorts {
  const { name } = domain
  const available = {
    ledger,
    ...(catalogue && declarationPorts(catalogue, configuration)),
    currencies: configuration.money.currencies,
    words,
    settings: settings.get(name),
    clock: systemClock,
    ids: systemIds,
    randomness: systemRandomness,
    logger: createLogger('silent').child({ domain: name }),
    ...countryPorts,
    signInUrl: (portal: Portal) => signInUrlOf(configuration, portal),
    use: (used: string) => unavailablePort(`use(${used})`),
  }
  // The proxy returns a value for every port, so the cast holds.
  const all = new Proxy<object>(available, {
    get: (target, key) => Reflect.get(target, key) ?? (typeof key === 'symbol' ? undefined : unavailablePort(key)),
  }) as DomainPorts
  return selectPorts(domain, all)
}
