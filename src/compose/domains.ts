import type { Logger } from 'pino'
import type { DomainParts, LoadedDomain } from '../api/domain.ts'
import type { DomainPorts, DomainServices, HooksPort } from '../api/ports.ts'
import type { HandlerDeadline } from '../backends/index.ts'
import { exchangeRatesIn } from '../banking/index.ts'
import { type Configuration, ConfigurationError } from '../config/index.ts'
import type { Catalogue } from '../contract/index.ts'
import { assertNoTransaction, inTransaction } from '../database/index.ts'
import { ExecutedOnce, type Hooks, hooksOf, selectPorts, withChecks, withHooks } from '../extensions/index.ts'
import {
  accountById,
  areFactorsSet,
  areFactorsUsedSince,
  assertSessionOpen,
  endSessions,
  type Identity,
  isSessionByPasskey,
  permissionsOfPasskey,
  resetFactors,
} from '../identity/index.ts'
import { createHandlerTable, type HandlerTable, type Operation, parseLocale, type Suspended } from '../kernel/index.ts'
import { createLedger, type Ledger, parseOutgoingRules, parseSeparation, separationSetting } from '../ledger/index.ts'
import { recordSetting } from '../platform/audit/index.ts'
import { createDomainCache } from '../platform/cache/index.ts'
import { countryPorts } from '../platform/countries.ts'
import type { SequencerPorts } from '../platform/events/index.ts'
import { highestRate } from '../platform/exchange-rates.ts'
import type { JobKind } from '../platform/jobs/index.ts'
import { createDomainLimits } from '../platform/limits/index.ts'
import { declarationPorts } from './catalogue.ts'
import { inOrderOfUse, partErrors } from './check/parts.ts'
import { createReplyCheck, type OncePorts, runOnce } from './commands/once.ts'
import { createEventPorts } from './events/port.ts'
import { reactionConsumer, reactionJobs } from './events/reactions.ts'
import { parseSettings } from './extensions.ts'
import { isRefusedEmail, signInUrlOf } from './identity.ts'
import type { Infrastructure } from './infrastructure.ts'

type Parts = DomainParts<Readonly<Record<string, Operation>>>

interface BuiltDomain {
  domain: LoadedDomain
  ports: Partial<DomainPorts>
  parts: Parts
  handlers: HandlerTable
  reactions: readonly JobKind[]
}

export interface DomainJobs {
  domain: string
  jobs: readonly JobKind[]
  /** They have separate workers: many events must not delay a mail. */
  reactions: readonly JobKind[]
  gatewayJobs: readonly JobKind[]
}

export interface Domains {
  ledger: Ledger
  handlers: HandlerTable
  names: ReadonlySet<string>
  /** Ids of the operations of OpenAPI documents. */
  remoteOperations: ReadonlySet<string>
  hooks: HooksPort
  /** The parts of all domains that make or receive events. */
  events: Pick<SequencerPorts, 'mappers' | 'consumers'>
  jobs: readonly DomainJobs[]
  /** Returns undefined if the domain is off. */
  service<Name extends keyof DomainServices>(name: Name): DomainServices[Name] | undefined
  /** Throws a ConfigurationError if the domain is missing. */
  requireService<Name extends keyof DomainServices>(name: Name): DomainServices[Name]
  /** Closes the domains in reverse order. */
  close(): Promise<void>
}

export interface DomainParents {
  catalogue: Catalogue
  settings: Configuration
  infrastructure: Infrastructure
  logger: Logger
  identity: Pick<
    Identity,
    'assertAddressAllowed' | 'createLink' | 'forgetFailures' | 'invalidateSessions' | 'inviteToProvider'
  >
  deadline: HandlerDeadline
}

class DomainBuilder {
  readonly #built = new Map<string, BuiltDomain>()
  readonly #executed = new ExecutedOnce()
  readonly #checkReply: OncePorts['checkReply']
  readonly eventSource: string
  readonly #shared: Omit<DomainPorts, 'events' | 'logger' | 'settings' | 'use' | 'cache' | 'limits' | 'transaction'>
  readonly #infrastructure: Infrastructure
  readonly #deadline: HandlerDeadline
  readonly #configuration: Configuration
  readonly #eventsPortOf: ReturnType<typeof createEventPorts>
  readonly #hooks: Hooks

  constructor(
    { catalogue, settings: configuration, infrastructure, identity, deadline, logger }: DomainParents,
    { ledger, hooks }: { ledger: Ledger; hooks: Hooks },
  ) {
    const { database } = infrastructure
    const checkReply = createReplyCheck(catalogue, configuration)
    this.#checkReply = checkReply
    this.#deadline = deadline
    this.#hooks = hooks
    this.#configuration = configuration
    this.#infrastructure = infrastructure
    this.eventSource = configuration.publicUrl.replace(/\/$/, '')
    const { events: types } = catalogue
    this.#eventsPortOf = createEventPorts({ ...infrastructure, types, source: this.eventSource, logger })
    this.#shared = {
      // Name each port, so that a domain gets no other part of the process.
      database,
      withoutTimeouts: async (work, signal) => {
        assertNoTransaction('withoutTimeouts')
        return infrastructure.withoutTimeouts(work, signal)
      },
      inSnapshot: async (work) => {
        assertNoTransaction('inSnapshot')
        return infrastructure.inSnapshot(work)
      },
      clock: infrastructure.clock,
      ids: infrastructure.ids,
      randomness: infrastructure.randomness,
      words: infrastructure.words,
      mailer: {
        close: () => infrastructure.mailer.close(),
        send: async (mail) => {
          assertNoTransaction('mailer')
          return infrastructure.mailer.send(mail)
        },
      },
      blobs: infrastructure.blobs,
      secretBox: infrastructure.secretBox,
      digest: infrastructure.digest,
      once: (request, work) =>
        this.#executed.run(request.idempotency, async () => {
          assertNoTransaction('once')
          return runOnce({ database, ledger, checkReply }, request, work)
        }),
      ledger,
      accounts: {
        suspicionWindowMs: configuration.passwords.suspicionWindowMs,
        maxNoticesPerDay: configuration.notices.maxPerDay,
        isRefusedEmail: (email, portal) => isRefusedEmail(configuration, email, portal),
        read: async (portal, id) => {
          assertNoTransaction('accounts')
          const account = await accountById(database, portal, id)
          return account && { email: account.email, name: account.name, locale: parseLocale(account.language) }
        },
      },
      sessions: {
        stepUpMs: configuration.mfa.stepUpMs,
        end: sessionEnd(identity),
        assertOpen: assertSessionOpen,
        isByPasskey: isSessionByPasskey,
        permissionsOfPasskey: (operatorPermissions) =>
          permissionsOfPasskey(configuration, { portal: 'SYSTEM', operatorPermissions }),
        invalidate: identity.invalidateSessions,
        createLink: identity.createLink,
        assertAddressAllowed: async (account, clientIp, isStreamOpen) => {
          assertNoTransaction('sessions')
          return identity.assertAddressAllowed(account, clientIp, isStreamOpen)
        },
      },
      factors: {
        areSet: areFactorsSet,
        areUsedSince: (tx, account, since) =>
          areFactorsUsedSince(tx, account, since, configuration.passwords.suspicionWindowMs),
        reset: async (tx, account, at) => {
          await identity.forgetFailures(tx, account)
          return resetFactors(tx, account, at)
        },
      },
      identityProviders: { invite: identity.inviteToProvider },
      workspaces: {
        lock: (tx, id) => this.requireService('workspaces').lock(tx, id),
        exists: async (id) => {
          assertNoTransaction('workspaces')
          return this.requireService('workspaces').exists(id)
        },
        freezeOwn: (tx, account, at) => this.requireService('workspaces').freezeOwn(tx, account, at),
      },
      hooks: {
        workspaceOpened: async (tx, workspace) => {
          for (const { parts } of this.domains()) await parts.onWorkspaceOpened?.(tx, workspace)
        },
        sandboxReset: async (tx, reset) => {
          for (const { parts } of this.domains()) await parts.onSandboxReset?.(tx, reset)
        },
        accountRecovered: async (tx, account) => {
          const suspended: Record<string, Suspended> = {}
          for (const { domain, parts } of this.domains()) {
            if (parts.onAccountRecovered) suspended[domain.name] = await parts.onAccountRecovered(tx, account)
          }
          return suspended
        },
      },
      ...declarationPorts(catalogue, configuration),
      currencies: configuration.money.currencies,
      ...countryPorts,
      signInUrl: (portal) => signInUrlOf(configuration, portal),
    }
  }

  get hooks(): HooksPort {
    return this.#shared.hooks
  }

  domains(): Iterable<BuiltDomain> {
    return this.#built.values()
  }

  service<Name extends keyof DomainServices>(name: Name): DomainServices[Name] | undefined {
    // Each domain declares the type of its service in `DomainServices`.
    return this.#built.get(name)?.parts.service as DomainServices[Name] | undefined
  }

  requireService<Name extends keyof DomainServices>(name: Name): DomainServices[Name] {
    const found = this.service(name)
    if (!found) throw new ConfigurationError([`domains: ${name} is missing`])
    return found
  }

  #use(domain: LoadedDomain): DomainPorts['use'] {
    return (name) => {
      const service = domain.uses?.includes(name) ? this.service(name) : undefined
      if (!service)
        throw new ConfigurationError([`${domain.source}: use(${name}) needs a service that uses: lists; add it there`])
      return service
    }
  }

  async build(domain: LoadedDomain, settings: unknown, logger: Logger): Promise<void> {
    const ports: DomainPorts = {
      ...this.#shared,
      cache: createDomainCache(this.#infrastructure.cache, domain.name),
      limits: createDomainLimits(this.#infrastructure.limits, domain.name),
      logger: logger.child({ domain: domain.name }),
      settings,
      events: this.#eventsPortOf(domain.name),
      transaction: async (work) => {
        assertNoTransaction('transaction')
        return inTransaction(this.#infrastructure.database, work, { owner: domain.name, port: 'transaction' })
      },
      use: this.#use(domain),
    }
    const selected = selectPorts(domain, ports)
    const parts = await domain.create(selected)
    const errors = partErrors(domain, parts, this.#configuration)
    if (errors.length > 0) throw new ConfigurationError(errors)
    // Handlers are paired by export name, which `domain` does not change.
    const table =
      parts.handlers instanceof Map
        ? parts.handlers
        : createHandlerTable(domain.contract ?? domain.operations, parts.handlers)
    const { ledger } = this.#shared
    const deadline = this.#deadline
    const hooked = withHooks(table, this.#hooks, {
      ledger,
      portsOf: (name) => this.#built.get(name)?.ports ?? {},
      deadline: domain.isOurs ? deadline : null,
    })
    // Portico's own handlers need no checks. `Ledger.execute` stores the orders of their idempotent commands without
    // `once`, and `promises` tests each of them. Without hooks, they also have no deadline: `database.statementTimeoutMs` limits their statements, and verifying the audit log may take longer.
    const checks = { executed: this.#executed, ledger, checkReply: this.#checkReply, deadline, logger }
    const handlers = domain.isOurs ? hooked : withChecks(hooked, checks)
    const reactions = reactionJobs(domain, selected, this.#infrastructure)
    this.#built.set(domain.name, { domain, ports: selected, parts, handlers, reactions })
  }
}

/** A domain reaches other domains only through the ports that this function passes. */
export async function composeDomains(domains: readonly LoadedDomain[], parents: DomainParents): Promise<Domains> {
  const { catalogue, settings: configuration, infrastructure, logger } = parents
  const settings = parseSettings(domains, configuration)
  const { money, mfa } = configuration
  const ledger = createLedger({
    ...infrastructure,
    database: infrastructure.databaseNamed('ledger'),
    types: catalogue.ledgerTypes,
    separationOfDuties: parseSeparation(money.separationOfDuties),
    outgoing: parseOutgoingRules(money.stepUpAbove, {
      stepUpMs: mfa.stepUpMs,
      findRate: async (tx, pair) => {
        const exchanges = builder.service('exchanges')
        return highestRate(await (exchanges?.ratesInForce(tx) ?? configuredRates(configuration)), pair)
      },
    }),
  })
  await ledger.registerTypes()
  await recordSetting(infrastructure, separationSetting(money.separationOfDuties))
  if (domains.some(({ needs }) => needs?.includes('ledger'))) await ledger.ensureHouseAccounts(money.currencies)
  const builder = new DomainBuilder(parents, { ledger, hooks: hooksOf(domains, catalogue) })
  await using closing = new AsyncDisposableStack()
  for (const domain of inOrderOfUse(domains)) await builder.build(domain, settings.get(domain.name), logger)
  const built = [...builder.domains()]
  for (const { parts } of built) closing.defer(() => parts.close?.())
  const closers = closing.move()
  return {
    ledger,
    handlers: new Map(built.flatMap(({ handlers }) => [...handlers])),
    names: new Set(domains.map(({ name }) => name)),
    remoteOperations: new Set(
      domains.flatMap(({ isRemote, operations }) => (isRemote ? Object.values(operations).map(({ id }) => id) : [])),
    ),
    hooks: builder.hooks,
    events: {
      mappers: built.flatMap(({ parts }) => parts.events ?? []),
      consumers: [
        reactionConsumer(
          built.map(({ domain }) => domain),
          { ...infrastructure, source: builder.eventSource },
        ),
        ...built.flatMap(({ parts }) => parts.onEvents ?? []),
      ],
    },
    jobs: built.map(({ domain, reactions, parts: { jobs = [], gatewayJobs = [] } }) => ({
      domain: domain.name,
      jobs,
      reactions,
      gatewayJobs,
    })),
    service: (name) => builder.service(name),
    requireService: (name) => builder.requireService(name),
    close: () => closers.disposeAsync(),
  }
}

/** Ends the sessions of an account for an operator. */
export function sessionEnd({ forgetFailures }: Pick<Identity, 'forgetFailures'>): DomainPorts['sessions']['end'] {
  return async (tx, account, reason, at) => {
    await forgetFailures(tx, account)
    return endSessions(tx, account, reason, at)
  }
}

/** Without the domain `exchanges`, nothing asks the provider: amounts in other currencies then count as above the sum. */
function configuredRates(settings: Configuration) {
  const { provider, rates } = exchangeRatesIn(settings)
  return provider ? [] : rates
}
