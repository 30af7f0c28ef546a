import type { LoadedDomain } from '../api/domain.ts'
import type { Hook, HookRequest } from '../api/hooks.ts'
import type { DomainPorts } from '../api/ports.ts'
import { type HandlerDeadline, internalError } from '../backends/index.ts'
import { type Catalogue, codesOf } from '../contract/catalogue.ts'
import { CommandGate, type Tx, whileRunning } from '../database/index.ts'
import {
  type AnyHandler,
  type AnyRequest,
  type Code,
  type DeclarationError,
  domainOf,
  type HandlerTable,
  type HookRun,
  isPassThrough,
  keepCallSite,
  type Operation,
  operationsIn,
  Refusal,
} from '../kernel/index.ts'
import { idempotencyKeyOf, type Ledger } from '../ledger/index.ts'

interface NamedHook {
  domain: string
  run: Hook<Partial<DomainPorts> & { tx: Tx }>
  codes: readonly Code[]
}

/** Portico's commands without a transaction: they change nothing, or only what a later command uses. */
export const commandsWithoutTransaction: readonly string[] = [
  'exchanges.quote',
  'exports.link',
  'files.link',
  'recharges.quote',
]

/** By operation id. The hooks of an operation are in the order of the domains. */
export type Hooks = ReadonlyMap<string, readonly NamedHook[]>

export function hooksOf(domains: Iterable<LoadedDomain>, { isCode }: Pick<Catalogue, 'isCode'>): Hooks {
  const all = [...domains].flatMap(({ name, before = {}, contract, codes = {} }) => {
    const declared = Object.keys(contract ? codesOf(contract) : codes).filter(isCode)
    return Object.entries(before).map(([id, run]) => ({ id, run, domain: name, codes: declared }))
  })
  return Map.groupBy(all, ({ id }) => id)
}

/** Returns the catalogue whose operations have the codes of their hooks. */
export function withHookCodes(catalogue: Catalogue, hooks: Hooks): Catalogue {
  if (hooks.size === 0) return catalogue
  const namedOperations = catalogue.namedOperations.map(([name, operation]): [string, Operation] => {
    const its = hooks.get(operation.id)
    if (!its) return [name, operation]
    const refuses = [...new Set([...operation.refuses, ...its.flatMap(({ codes }) => codes)])]
    return [name, keepCallSite(operation, { ...operation, refuses, before: its.map(({ domain }) => domain) })]
  })
  return { ...catalogue, namedOperations, operations: namedOperations.map(([, operation]) => operation) }
}

/**
 * The hooks that could never run. `owners` are the enabled domains by a unique name, and `all` are the names of those that
 * can be switched on.
 */
export function hookErrors(
  owners: ReadonlyMap<string, LoadedDomain>,
  { operations, isRoutable }: Pick<Catalogue, 'operations' | 'isRoutable'>,
  all: ReadonlySet<string>,
): DeclarationError[] {
  const places = new Map(
    [...owners.values()].flatMap((domain) =>
      operationsIn(domain.contract ?? domain.operations).map(([, operation]) => [operation.id, { operation, domain }]),
    ),
  )
  const errorOf = (id: string): string | undefined => {
    const place = places.get(id)
    if (place) return commandError(place.operation, place.domain)
    const name = domainOf(id)
    if (operations.some((operation) => operation.id === id) || !isRoutable(name))
      return 'the gateway serves it itself, without hooks; remove the hook'
    if (all.has(name) && ![...owners.values()].some((domain) => domain.name === name))
      return `the domain ${name} is off; remove the hook, or switch the domain on`
    return 'no domain declares this operation; correct the id, or add the module of its domain to extensions'
  }
  return [...owners].flatMap(([owner, { before = {} }]) =>
    Object.keys(before).flatMap((id) => {
      const error = errorOf(id)
      return error === undefined ? [] : [{ owner, message: `before.${id}: ${error}` }]
    }),
  )
}

export interface HookPorts {
  ledger: Pick<Ledger, 'findStoredResult' | 'within'>
  /** Returns the ports of a domain, which may have been built later. */
  portsOf(domain: string): Partial<DomainPorts>
  /** Null if the handlers have a deadline already. */
  deadline: HandlerDeadline | null
}

/** Runs the hooks first in the transaction of each command. Handlers without hooks are unchanged. */
export function withHooks(handlers: HandlerTable, hooks: Hooks, ports: HookPorts): HandlerTable {
  const hooked = (id: string, handler: AnyHandler): AnyHandler => {
    const its = hooks.get(id)
    if (!its) return handler
    const { deadline } = ports
    if (!deadline) return (request) => runHooked(handler, request, its, ports)
    return (request) =>
      deadline.run(id, (expired) => {
        const signal = AbortSignal.any([request.signal, expired])
        return runHooked(handler, { ...request, signal }, its, ports)
      })
  }
  return new Map([...handlers].map(([id, handler]) => [id, hooked(id, handler)]))
}

/** A repeated request is not checked again: it gets the stored reply, or a refusal of the command itself. */
async function runHooked(
  handler: AnyHandler,
  request: AnyRequest,
  hooks: readonly NamedHook[],
  { ledger, portsOf }: HookPorts,
): Promise<unknown> {
  const { operationId: id, hookRuns = [], signal } = request
  const shown = toHookRequest(request)
  const gate = new CommandGate(id, async (tx) => {
    hookRuns.length = 0
    if (await isRepeated(ledger.within(tx), request)) return
    for (const hook of hooks) await runHook(hook, shown, { ...portsOf(hook.domain), tx }, hookRuns)
    // The client already has a refusal.
    signal.throwIfAborted()
  })
  const reply = await gate.run(() => handler(request))
  if (gate.hasPassed || (await isRepeated(ledger, request))) return reply
  throw new Error(`${id} succeeded without a transaction, so the hooks of ${hooks[0]?.domain} did not run`)
}

async function runHook(
  { domain, run, codes }: NamedHook,
  request: HookRequest,
  ports: Partial<DomainPorts> & { tx: Tx },
  runs: HookRun[],
): Promise<void> {
  const own: HookRun = { domain, verdict: 'running' }
  runs.push(own)
  try {
    await whileRunning({ owner: domain, port: 'before' }, async () => run(request, ports))
    own.verdict = 'passed'
  } catch (error) {
    const isDeclared = error instanceof Refusal && codes.includes(error.code)
    own.verdict = isDeclared ? 'refused' : 'failed'
    if (isDeclared || !(error instanceof Refusal)) throw error
    const { operationId: id } = request
    throw internalError(
      `${domain}: before.${id} refused with ${error.code}, which ${domain} does not declare in \`codes\``,
    )
  }
}

/** Whether the key of a request has a stored result, also of another body. The command decides about that. */
async function isRepeated(
  ledger: Pick<Ledger, 'findStoredResult'>,
  { caller, operationId, idempotency, workspace }: AnyRequest,
): Promise<boolean> {
  if (caller === null || idempotency === null) return false
  try {
    const key = idempotencyKeyOf({ caller, operationId, idempotency }, workspace?.id ?? null)
    return (await ledger.findStoredResult(key)) !== undefined
  } catch (error) {
    if (error instanceof Refusal && error.code === 'REQUEST.ID_REUSED') return true
    throw error
  }
}

/** A copy, so that a hook cannot change what the handler does. */
function toHookRequest(request: AnyRequest): HookRequest {
  const { operationId, requestId, receivedAt, portal, locale, clientIp, userAgent, country } = request
  const { caller, workspace, idempotency, params, query, body } = request
  return Object.freeze({
    ...{ operationId, requestId, receivedAt, portal, locale, clientIp, userAgent, country },
    params: freezeDeep(structuredClone(params)),
    query: freezeDeep(structuredClone(query)),
    body: freezeDeep(structuredClone(body)),
    caller: caller && Object.freeze({ ...caller, permissions: new Set(caller.permissions) }),
    workspace: workspace && Object.freeze({ ...workspace, permissions: new Set(workspace.permissions) }),
    idempotencyKey: idempotency?.key ?? null,
  })
}

function freezeDeep<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value
  for (const part of Object.values(value)) freezeDeep(part)
  return Object.freeze(value)
}

function commandError(operation: Operation, { isRemote }: LoadedDomain): string | undefined {
  const { id, method, body, reply } = operation
  if (method === 'GET') return 'must be a command, not a GET'
  if (isRemote || isPassThrough(operation)) return 'an HTTP service serves it, where no hook can run; remove the hook'
  if (commandsWithoutTransaction.includes(id)) return 'must be a command with a transaction'
  const isJson = typeof body !== 'string' || body === 'none'
  return isJson && reply !== 'stream' ? undefined : 'must be a command with JSON in body and reply'
}
