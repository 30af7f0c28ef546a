import type { Logger } from 'pino'
import { type Configuration, ConfigurationError } from '../config/index.ts'
import { type Catalogue, catalogueWith, resources } from '../contract/index.ts'
import { type Database, inTransaction, type SchemaOwner, type Tx } from '../database/index.ts'
import {
  type Domain,
  type DomainParts,
  type DomainPorts,
  type Extension,
  type IdempotentRequest,
  toContract,
} from '../extensions/index.ts'
import {
  type AnyHandler,
  createHandlerTable,
  type HandlerTable,
  type Idempotency,
  messageOf,
  Refusal,
} from '../kernel/index.ts'
import type { Ledger } from '../ledger/index.ts'
import type { JobKind } from '../platform/jobs/index.ts'
import { schemaOwners } from './migrations.ts'

/**
 * Calls `build` with the extensions. If it fails because of one, throws a ConfigurationError with the file of the first
 * extension that causes the failure.
 */
export const buildWith = <Built>(
  extensions: readonly Extension[],
  build: (extensions: readonly Extension[]) => Built,
): Built => {
  try {
    return build(extensions)
  } catch (error) {
    build([])
    for (const [index, { file }] of extensions.entries())
      try {
        build(extensions.slice(0, index + 1))
      } catch (cause) {
        throw new ConfigurationError([`extensions: ${file}: ${messageOf(cause)}`])
      }
    throw error
  }
}

/** The catalogue of a process with these extensions. Throws a ConfigurationError if two owners declare the same name. */
export const catalogueOf = (extensions: readonly Extension[]): Catalogue =>
  buildWith(extensions, (each) => {
    const names = new Set<string>([...Object.keys(resources), ...schemaOwners.map(({ owner }) => owner)])
    for (const { name } of each) {
      if (names.has(name)) throw new TypeError(`the name ${name} is used twice`)
      names.add(name)
    }
    return catalogueWith(
      Object.fromEntries(each.map((extension, index) => [extension.name, toContract(extension, index)])),
    )
  })

/** All owners of tables, extensions last. */
export const schemaOwnersOf = (extensions: readonly Extension[]): readonly SchemaOwner[] => [
  ...schemaOwners,
  ...extensions.flatMap(({ name, migrations }) => (migrations ? [{ owner: name, migrations }] : [])),
]

/** The error lines of the `domains` section, and the parsed settings by the name of the extension. */
const parseSettings = (
  extensions: readonly Extension[],
  configured: Configuration['domains'],
): { errors: string[]; settings: ReadonlyMap<string, unknown> } => {
  const errors = Object.keys(configured)
    .filter((name) => !extensions.some((extension) => extension.name === name && extension.settings))
    .map((name) => `domains.${name}: no extension with settings has this name`)
  const settings = new Map<string, unknown>()
  for (const { name, settings: schema } of extensions) {
    const parsed = schema?.safeParse(configured[name] ?? {})
    settings.set(name, parsed?.data ?? {})
    for (const { path, message } of parsed?.error?.issues ?? [])
      errors.push(`domains.${[name, ...path].join('.')}: ${message}`)
  }
  return { errors, settings }
}

/** Throws a ConfigurationError that lists every error of the `domains` section. */
export const assertExtensionSettings = (extensions: readonly Extension[], { domains }: Configuration): void => {
  const { errors } = parseSettings(extensions, domains)
  if (errors.length > 0) throw new ConfigurationError(errors)
}

const partErrors = (
  { name, file, operations }: Extension,
  { handlers, jobs = [] }: DomainParts<Domain['operations']>,
): string[] => [
  ...Object.keys(operations)
    .filter((key) => typeof Reflect.get(handlers, key) !== 'function')
    .map((key) => `extensions: ${file}: ${key} has no handler`),
  ...Object.keys(handlers)
    .filter((key) => !Object.hasOwn(operations, key))
    .map((key) => `extensions: ${file}: the handler ${key} has no operation`),
  ...jobs
    .filter((job) => !job.name.startsWith(`${name}.`))
    .map((job) => `extensions: ${file}: the name of job ${job.name} must begin with ${name}.`),
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
    // The operation and the body are those of the first request, so the stored reply has the same type.
    if (stored) return stored.result as Reply
    const reply = await work(tx)
    await within.storeResult(key, reply)
    return reply
  })

/** The idempotency keys of requests that were passed to `once`. */
type ExecutedOnce = WeakSet<Idempotency>

/**
 * Wraps a handler so that its mistakes become errors: a refusal with a code that nobody declares, and an idempotent
 * operation that does not call `once`.
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

export interface Extensions {
  handlers: HandlerTable
  jobs: readonly JobKind[]
  cleaners: readonly NonNullable<DomainParts<Domain['operations']>['onSandboxReset']>[]
}

/** Builds the handlers and jobs of the extensions. Throws a ConfigurationError that lists every error. */
export const composeExtensions = (
  extensions: readonly Extension[],
  catalogue: Catalogue,
  { domains }: Configuration,
  infrastructure: Pick<DomainPorts, 'database' | 'clock' | 'ids' | 'words'>,
  ledger: Ledger,
  logger: Logger,
): Extensions => {
  const { database, clock, ids, words } = infrastructure
  const { errors, settings } = parseSettings(extensions, domains)
  if (errors.length > 0) throw new ConfigurationError(errors)
  const executed: ExecutedOnce = new WeakSet()
  const built = extensions.map((extension) => ({
    extension,
    parts: extension.create({
      database,
      transaction: (work) => inTransaction(database, work),
      once: (request, work) => {
        executed.add(request.idempotency)
        return runOnce(database, ledger, request, work)
      },
      ledger,
      clock,
      ids,
      words,
      logger: logger.child({ domain: extension.name }),
      settings: settings.get(extension.name),
    }),
  }))
  const faults = built.flatMap(({ extension, parts }) => partErrors(extension, parts))
  if (faults.length > 0) throw new ConfigurationError(faults)
  return {
    handlers: new Map(
      built.flatMap(({ extension, parts }) =>
        [...createHandlerTable(extension.operations, parts.handlers)].map(
          ([id, handler]) => [id, withChecks(id, handler, catalogue, executed)] as const,
        ),
      ),
    ),
    jobs: built.flatMap(({ parts }) => parts.jobs ?? []),
    cleaners: built.flatMap(({ parts }) => parts.onSandboxReset ?? []),
  }
}
