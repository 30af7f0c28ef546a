import type { Logger } from 'pino'
import type { LoadedDomain } from '../api/domain.ts'
import { type DomainPorts, isPortName } from '../api/ports.ts'
import type { HandlerDeadline } from '../backends/index.ts'
import { ConfigurationError } from '../config/index.ts'
import {
  type AnyHandler,
  type AnyRequest,
  type HandlerTable,
  type Idempotency,
  Refusal,
  withCallSite,
} from '../kernel/index.ts'
import { idempotencyKeyOf, type Ledger } from '../ledger/index.ts'
import { inOperation } from '../platform/telemetry/index.ts'

interface Executed {
  /** Settles with the calls of `once`. */
  running: Promise<unknown>
  committed?: unknown
  hasReturned?: boolean
}

/** The calls of `once` by request. */
export class ExecutedOnce {
  readonly #requests = new WeakMap<Idempotency, Executed>()

  get(idempotency: Idempotency): Executed | undefined {
    return this.#requests.get(idempotency)
  }

  /** The client knows the outcome: no command may follow. */
  end(idempotency: Idempotency): void {
    this.#requests.set(idempotency, { running: Promise.resolve(), hasReturned: true })
  }

  /** A handler can forget to await the returned promise. */
  run<Reply>(idempotency: Idempotency, command: () => Promise<Reply>): Promise<Reply> {
    const previous = this.get(idempotency)
    const executed: Executed = { running: Promise.resolve() }
    const run = async (): Promise<Reply> => {
      if (previous?.hasReturned) throw new Error('a handler called once after it had returned')
      const committed = await command()
      executed.committed = committed
      return committed
    }
    const running = run()
    executed.running = Promise.all([previous?.running, running])
    executed.running.catch(() => undefined)
    if (!previous?.hasReturned) this.#requests.set(idempotency, executed)
    return running
  }
}

interface HandlerChecks {
  executed: ExecutedOnce
  ledger: Pick<Ledger, 'findStoredResult'>
  /** Throws if the reply of an operation is invalid. */
  checkReply(operationId: string, reply: unknown): unknown
  deadline: HandlerDeadline
  logger: Logger
}

/** Sets a deadline, and checks the handlers of idempotent operations. */
export function withChecks(handlers: HandlerTable, checks: HandlerChecks): HandlerTable {
  const checked =
    (id: string, handler: AnyHandler): AnyHandler =>
    (request: AnyRequest) =>
      checks.deadline.run(id, (expired) => {
        const { idempotency } = request
        // A handler in JavaScript can return a plain value.
        const signal = AbortSignal.any([request.signal, expired])
        const run = () => inOperation(id, async () => handler({ ...request, signal }))
        return idempotency ? runIdempotent(request, run, idempotency, checks) : run()
      })
  return new Map([...handlers].map(([id, handler]) => [id, checked(id, handler)]))
}

/**
 * The ports in `needs` and nothing else. Reading another port throws a ConfigurationError, because without types it would
 * be undefined until a request needs it.
 */
export function selectPorts(domain: LoadedDomain, ports: DomainPorts): DomainPorts {
  const { source, needs = [], uses = [] } = domain
  const names: (keyof DomainPorts)[] = [...needs, 'settings', ...(uses.length > 0 ? (['use'] as const) : [])]
  const selected = Object.fromEntries(names.map((name) => [name, ports[name]]))
  // `create` is typed by `needs`, so it reads no other port.
  return new Proxy<object>(selected, {
    get: (target, key) => {
      if (isPortName(key) && !Object.hasOwn(target, key))
        throw new ConfigurationError([
          withCallSite(`${source}: needs: is missing ${key}, which create reads; add it`, domain),
        ])
      return Reflect.get(target, key)
    },
  }) as DomainPorts
}

/**
 * Throws if the handler of an idempotent operation neither calls `once` nor sends a command with the request's key to the
 * ledger, or if `once` fails, even if the handler does not wait for it. If the handler fails after the commit, resolves with the stored reply, as a retry would: the command has
 * taken effect.
 */
async function runIdempotent(
  request: AnyRequest,
  run: () => Promise<unknown>,
  idempotency: Idempotency,
  { executed, ledger, checkReply, logger }: HandlerChecks,
): Promise<unknown> {
  const { operationId: id } = request
  try {
    const reply = await run()
    const done = executed.get(idempotency)
    if (!done && !(await isStored(ledger, request, idempotency))) throw new Error(`${id} did not call once`)
    await done?.running
    if (!done || reply !== done.committed) checkReply(id, reply)
    return reply
  } catch (error) {
    const done = executed.get(idempotency)
    await done?.running.catch(() => undefined)
    if (!done || !('committed' in done) || !isFailure(error)) throw error
    logger.error({ operation: id, err: error }, 'a handler failed after its command was committed')
    return done.committed
  } finally {
    executed.end(idempotency)
  }
}

/** Whether a command of the ledger stored the result of the request. */
async function isStored(
  ledger: HandlerChecks['ledger'],
  { caller, workspace, operationId }: AnyRequest,
  idempotency: Idempotency,
): Promise<boolean> {
  if (caller === null) return false
  const key = idempotencyKeyOf({ caller, operationId, idempotency }, workspace?.id ?? null)
  try {
    return (await ledger.findStoredResult(key)) !== undefined
  } catch (error) {
    // A repeated request has the lock on the key.
    if (error instanceof Refusal && error.code === 'REQUEST.IN_PROGRESS') return true
    throw error
  }
}

/** A refusal after the commit can be intended. An error is not. */
function isFailure(error: unknown): boolean {
  return !(error instanceof Refusal) || error.code.startsWith('SYSTEM.')
}
