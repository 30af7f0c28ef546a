import type { DomainPorts, LoadedDomain } from '../api/domain.ts'
import type { Configuration } from '../config/index.ts'
import type { Catalogue } from '../contract/index.ts'
import { messageOf, type Words } from '../kernel/index.ts'
import { isCountry } from '../platform/countries.ts'
import { systemClock, systemIds, systemRandomness } from '../platform/runtime/index.ts'
import { createLogger } from '../platform/telemetry/index.ts'
import { partErrors } from './domains.ts'
import { linksOf } from './identity.ts'

/** A port was used that exists only in a running process. */
class PortUnavailable extends Error {}

/** A call throws PortUnavailable. */
const unavailablePort = (name: string): object =>
  new Proxy(() => undefined, {
    // `await` reads `then`, and the runtime reads symbols.
    get: (_target, key) => (typeof key === 'symbol' || key === 'then' ? undefined : unavailablePort(`${name}.${key}`)),
    apply: () => {
      throw new PortUnavailable(name)
    },
  })

const portsFor = (
  { name }: LoadedDomain,
  catalogue: Catalogue,
  configuration: Configuration,
  words: Words,
  settings: unknown,
): DomainPorts => {
  const available: Partial<DomainPorts> = {
    catalogue,
    configuration,
    words,
    settings,
    clock: systemClock,
    ids: systemIds,
    randomness: systemRandomness,
    logger: createLogger('silent').child({ domain: name }),
    isCountry,
    signInUrl: (portal) => linksOf(configuration, portal).signIn,
  }
  // The proxy returns a value for every port, so the cast holds.
  return new Proxy(available, {
    get: (target, key) => {
      if (key === 'use') return (used: string) => unavailablePort(`use(${used})`)
      return Reflect.get(target, key) ?? (typeof key === 'symbol' ? undefined : unavailablePort(key))
    },
  }) as DomainPorts
}

export interface HandlerCheck {
  errors: readonly string[]
  /** Their `create` function needs a store, so their handlers are checked only at start. */
  skipped: readonly string[]
}

const checkDomain = async (domain: LoadedDomain, ports: DomainPorts): Promise<HandlerCheck> => {
  try {
    const parts = await domain.create(ports)
    const errors = partErrors(domain, parts)
    await parts.close?.()
    return { errors, skipped: [] }
  } catch (error) {
    return error instanceof PortUnavailable
      ? { errors: [], skipped: [`${domain.source}: create calls ${error.message}; its handlers are checked at start`] }
      : { errors: [`${domain.source}: create: ${messageOf(error)}`], skipped: [] }
  }
}

/** Checks the handlers without a store. */
export const checkHandlers = async (
  domains: readonly LoadedDomain[],
  catalogue: Catalogue,
  configuration: Configuration,
  words: Words,
  settingsOf: ReadonlyMap<string, unknown>,
): Promise<HandlerCheck> => {
  const checks: HandlerCheck[] = []
  for (const domain of domains.filter(({ isOurs, isRemote }) => !isOurs && !isRemote))
    checks.push(
      await checkDomain(domain, portsFor(domain, catalogue, configuration, words, settingsOf.get(domain.name))),
    )
  return {
    errors: checks.flatMap(({ errors }) => errors),
    skipped: checks.flatMap(({ skipped }) => skipped),
  }
}
