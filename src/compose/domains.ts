import type { Logger } from 'pino'
import type { DomainParts, DomainPorts, IdempotentRequest, LoadedDomain } from '../api/domain.ts'
import type { DomainServices } from '../api/services.ts'
import { type Configuration, ConfigurationError } from '../config/index.ts'
import type { Catalogue } from '../contract/index.ts'
import { type Database, inTransaction, type Tx } from '../database/index.ts'
import { accountById, endSessions, type Identity } from '../identity/index.ts'
import {
  type AnyHandler,
  createHandlerTable,
  type HandlerTable,
  type Idempotency,
  type Operation,
  parseLocale,
  Refusal,
} from '../kernel/index.ts'
import { Ledger } from '../ledger/index.ts'
import { isCountry } from '../platform/countries.ts'
import type { JobKind } from '../platform/jobs/index.ts'
import { parseSettings } from './extensions.ts'
import { linksOf } from './identity.ts'
import type { Infrastructure } from './infrastructure.ts'

type Parts = DomainParts<Readonly<Record<string, Operation>>>

/** A domain with what its `create` function returned. */
interface BuiltDomain {
  domain: LoadedDomain
  parts: Parts
  handlers: HandlerTable
}

/** The domains of one process. */
export interface Domains {
  ledger: Ledger
  handlers: HandlerTable
  /** The names of the domains. */
  names: ReadonlySet<string>
  /** The background jobs of each domain. */
  jobs: readonly { domain: string; jobs: readonly JobKind[]; gatewayJobs: readonly JobKind[] }[]
  /** Returns the service of a domain, or undefined if the domain is off. */
  service<Name extends keyof DomainServices>(name: Name): DomainServices[Name] | undefined
  /** Returns the service of a domain that every process has. */
  requireService<Name extends keyof DomainServices>(name: Name): DomainServices[Name]
  /** Closes the domains in reverse order. */
  close(): Promise<void>
}

/** Orders domains so that each follows those that it uses. Throws a ConfigurationError for a missing domain or a cycle. */
const inOrderOfUse = (domains: readonly LoadedDomain[]): readonly LoadedDomain[] => {
  const ordered = new Set<LoadedDomain>()
  const visit = (domain: LoadedDomain, path: readonly string[]): void => {
    if (ordered.has(domain)) return
    if (path.includes(domain.name))
      throw new ConfigurationError([`${domain.source}: uses itself: ${[...path, domain.name].join(', ')}`])
    for (const name of domain.uses ?? []) {
      const used = domains.find((each) => each.name === name)
      if (!used) throw new ConfigurationError([`${domain.source}: uses ${name}, which no domain has as its name`])
      visit(used, [...path, domain.name])
    }
    ordered.add(domain)
  }
  for (const domain of domains) visit(domain, [])
  return [...ordered]
}

const partErrors = ({ name, source, operations }: LoadedDomain, { handlers, jobs = [], gatewayJobs = [] }: Parts) => [
  ...(handlers instanceof Map
    ? []
    : [
        ...Object.keys(operations)
          .filter((key) => typeof Reflect.get(handlers, key) !== 'function')
          .map((key) => `${source}: ${key} has no handler`),
        ...Object.keys(handlers)
          .filter((key) => !Object.hasOwn(operations, key))
          .map((key) => `${source}: the handler ${key} has no operation`),
      ]),
  ...[...jobs, ...gatewayJobs]
    .filter((job) => !job.name.startsWith(`${name}.`))
    .map((job) => `${source}: the name of job ${job.name} must begin with ${name}.`),
]

/** Runs a command once per request id and stores its reply, both in one transaction. */
const runOnce = <Reply>(
  database: Database,
  ledger: Ledger,
  { operationId, caller, workspace, idempotency }: IdempotentRequest,
  work: (tx: Tx) => Promise<Reply>,
): Promise<Reply> =>
  inTransaction(database, async (tx) => {
    const within = ledger.within(tx)
    const key = {
      account: caller.accountId,
      workspace: workspace?.id ?? null,
      operation: operationId,
      ...idempotency,
    }
    const stored = await within.findStoredResult(key)
    // The stored reply belongs to the same operation and the same body, so it has the same type.
    if (stored) return stored.result as Reply
    const reply = await work(tx)
    await within.storeResult(key, reply)
    return reply
  })

/** The idempotency keys of requests that were passed to `once`. */
type ExecutedOnce = WeakSet<Idempotency>

/**
 * Wraps a handler of an extension. Two mistakes become errors: a refusal with a code that no domain declares, and an
 * idempotent operation that does not call `once`.
 */
const withChecks =
  (id: string, handler: AnyHandler, { isCode }: Pick<Catalogue, 'isCode'>, executed: ExecutedOnce): AnyHandler =>
  async (request) => {
    try {
      const reply = await handler(request)
      if (request.idempotency && !executed.has(request.idempotency)) throw new Error(`${id} did not call once`)
      return reply
    } catch (error) {
      if (error instanceof Refusal && !isCode(error.code))
        throw new Error(`${id} refused with ${error.code}, which no owner declares`, { cause: error })
      throw error
    }
  }

/** Builds one domain after the other, and the ports that they share. */
class DomainBuilder {
  readonly #built = new Map<string, BuiltDomain>()
  readonly #executed: ExecutedOnce = new WeakSet()
  readonly #shared: Omit<DomainPorts, 'logger' | 'settings' | 'use'>

  constructor(
    catalogue: Catalogue,
    configuration: Configuration,
    infrastructure: Infrastructure,
    ledger: Ledger,
    identity: Pick<Identity, 'invalidateSessions' | 'assertAddressAllowed'>,
  ) {
    const { database } = infrastructure
    this.#shared = {
      ...infrastructure,
      transaction: (work) => inTransaction(database, work),
      once: (request, work) => {
        this.#executed.add(request.idempotency)
        return runOnce(database, ledger, request, work)
      },
      ledger,
      accounts: {
        read: async (portal, id) => {
          const account = await accountById(database, portal, id)
          return account && { email: account.email, name: account.name, locale: parseLocale(account.language) }
        },
      },
      sessions: {
        end: endSessions,
        invalidate: identity.invalidateSessions,
        assertAddressAllowed: identity.assertAddressAllowed,
      },
      workspaces: {
        lock: (tx, id) => this.requireService('workspaces').lock(tx, id),
        exists: (id) => this.requireService('workspaces').exists(id),
        freezeOwn: (tx, account, at) => this.requireService('workspaces').freezeOwn(tx, account, at),
      },
      hooks: {
        workspaceOpened: async (tx, workspace) => {
          for (const { parts } of this.domains()) await parts.onWorkspaceOpened?.(tx, workspace)
        },
        sandboxReset: async (tx, reset) => {
          for (const { parts } of this.domains()) await parts.onSandboxReset?.(tx, reset)
        },
      },
      catalogue,
      configuration,
      isCountry,
      signInUrl: (portal) => linksOf(configuration, portal).signIn,
    }
  }

  domains(): Iterable<BuiltDomain> {
    return this.#built.values()
  }

  /** Returns the service of a built domain. */
  service<Name extends keyof DomainServices>(name: Name): DomainServices[Name] | undefined {
    // `DomainServices` declares the type of each service next to the domain that returns it.
    return this.#built.get(name)?.parts.service as DomainServices[Name] | undefined
  }

  /** Returns the service of a domain that every process has. */
  requireService<Name extends keyof DomainServices>(name: Name): DomainServices[Name] {
    const found = this.service(name)
    if (!found) throw new ConfigurationError([`domains: ${name} is missing`])
    return found
  }

  #use(domain: LoadedDomain): DomainPorts['use'] {
    return (name) => {
      const service = domain.uses?.includes(name) ? this.service(name) : undefined
      if (!service) throw new ConfigurationError([`${domain.source}: use(${name}) needs a service that uses: lists`])
      return service
    }
  }

  /** Creates a domain. Throws a ConfigurationError that lists every error of its parts. */
  async build(domain: LoadedDomain, settings: unknown, logger: Logger): Promise<void> {
    const parts = await domain.create({
      ...this.#shared,
      logger: logger.child({ domain: domain.name }),
      settings,
      use: this.#use(domain),
    })
    const errors = partErrors(domain, parts)
    if (errors.length > 0) throw new ConfigurationError(errors)
    const { catalogue } = this.#shared
    // A contract pairs operations and handlers by export name, and `domain` keeps these names.
    const table =
      parts.handlers instanceof Map
        ? parts.handlers
        : createHandlerTable(domain.contract ?? domain.operations, parts.handlers)
    const handlers = domain.isOurs
      ? table
      : new Map([...table].map(([id, handler]) => [id, withChecks(id, handler, catalogue, this.#executed)]))
    this.#built.set(domain.name, { domain, parts, handlers })
  }
}

/**
 * Builds the ledger and every domain. A domain reaches another one only through the ports that this function passes.
 */
export const composeDomains = async (
  domains: readonly LoadedDomain[],
  catalogue: Catalogue,
  configuration: Configuration,
  infrastructure: Infrastructure,
  logger: Logger,
  identity: Pick<Identity, 'invalidateSessions' | 'assertAddressAllowed'>,
): Promise<Domains> => {
  const settings = parseSettings(domains, configuration)
  const ledger = new Ledger(infrastructure)
  await ledger.ensureHouseAccounts(configuration.money.currencies)
  const builder = new DomainBuilder(catalogue, configuration, infrastructure, ledger, identity)
  await using closing = new AsyncDisposableStack()
  for (const domain of inOrderOfUse(domains)) await builder.build(domain, settings.get(domain.name), logger)
  const built = [...builder.domains()]
  for (const { parts } of built) closing.defer(() => parts.close?.())
  const closers = closing.move()
  return {
    ledger,
    handlers: new Map(built.flatMap(({ handlers }) => [...handlers])),
    names: new Set(domains.map(({ name }) => name)),
    jobs: built.map(({ domain, parts: { jobs = [], gatewayJobs = [] } }) => ({
      domain: domain.name,
      jobs,
      gatewayJobs,
    })),
    service: (name) => builder.service(name),
    requireService: (name) => builder.requireService(name),
    close: () => closers.disposeAsync(),
  }
}
