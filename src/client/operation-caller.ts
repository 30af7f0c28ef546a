import type { ChainId, Operation } from '../kernel/index.ts'
import { withAbort } from './abort.ts'
import { sendAttempt } from './attempt.ts'
import type { Channel, ChannelCache } from './channel/channel.ts'
import { shouldSeal } from './channel/seal-rule.ts'
import type { NamedRoute } from './contract/routes.ts'
import { isPorticoError, type PorticoError } from './errors.ts'
import { newRequestId } from './headers.ts'
import type { Answer, AnyArgs, Args, OperationCaller, Result } from './operation-types.ts'
import type { Settings } from './options.ts'
import type { CallableOperation, OperationParts } from './portal/operation.ts'
import { CommandIdentity } from './retry.ts'
import type { Route } from './routes.ts'
import type { Transport } from './transport.ts'

/** `tokens` and `channels` are functions, because they call operations themselves. */
export interface CallerPorts {
  settings: Settings
  /** Undefined if the operation is not served to this client. */
  routeOf(operation: CallableOperation): Route | undefined
  transport: Transport
  /** For operations that do not bring theirs. */
  parts: OperationParts
  clientHash(): Promise<string | null>
  tokens(): TokenSource
  /** Null on the api chain, and without a secure channel. */
  channels(): ChannelCache | null
  /** Confirms the call. Null if the caller handles ACCESS.STEP_UP_REQUIRED. */
  stepUp: ((operation: CallableOperation, args: AnyArgs) => Promise<void>) | null
  /** Default of `workspaceId`. */
  workspaceId?: string | undefined
}

export interface TokenSource {
  /** Null without a sign-in, and in cookie mode. */
  current(): Promise<string | null>
  /** Returns false if the token cannot be renewed. */
  replace(rejected: string | null): Promise<boolean>
}

export class GatewayCaller<C extends ChainId = 'consumer'> implements OperationCaller<C> {
  private readonly ports: CallerPorts
  private readonly identity = new CommandIdentity()

  constructor(ports: CallerPorts) {
    this.ports = ports
  }

  // `call` has validated the data.
  readonly answer = async <O extends Operation>(operation: O, args: Args<O, C>): Promise<Answer<Result<O>>> =>
    (await this.call(operation, args)) as Answer<Result<O>>

  async call(operation: CallableOperation, args: AnyArgs): Promise<Answer<unknown>> {
    const route = this.ports.routeOf(operation)
    if (!route) throw new TypeError(`${operation.id} is not served to this client`)
    const requestId = args.requestId ?? newRequestId()
    const { idempotent, rate, workspace } = operation.policy
    const { workspaceId } = this.ports
    const named: AnyArgs = { ...(workspaceId !== undefined && workspace !== 'none' && { workspaceId }), ...args }
    const call = { ...named, body: copyOfJson(named.body) }
    const task = () => this.callOnce(route, call, requestId)
    // The gateway repeats the successor of a refresh token until it is used, so a refresh can be retried, too.
    const repeat = idempotent || rate === 'refresh' ? (operation.retry ?? this.ports.parts.retry) : undefined
    const assertRepeatable = (error: PorticoError) => idempotent && this.identity.assertRepeatable(requestId, error)
    return withAbort(args.signal, () =>
      repeat ? repeat(this.ports.settings.retry, args.signal, task, assertRepeatable) : task(),
    )
  }

  /** Repeats the call after renewing a token or reopening a channel, at most once each. */
  private async callOnce(route: Route, args: AnyArgs, requestId: string): Promise<Answer<unknown>> {
    const { settings, clientHash: readClientHash, tokens } = this.ports
    const { operation } = route
    const needsToken = operation.policy.caller === 'account' && !hasAuthorization(args)
    const isSealed = shouldSeal(operation, settings.seal, args.seal)
    const recovered = new Set<string>()
    for (;;) {
      const clientHash = await readClientHash()
      const accessToken = needsToken ? await tokens().current() : null
      const channel = isSealed ? await this.openChannel(operation, clientHash) : null
      try {
        const ports = { ...this.ports, identity: this.identity }
        return await sendAttempt(ports, { route, args, requestId, clientHash, accessToken, channel })
      } catch (error) {
        const code = isPorticoError(error) ? error.code : ''
        if (recovered.has(code) || !(await this.recover(error, { route, args, accessToken, channel }))) throw error
        recovered.add(code)
      }
    }
  }

  /** A call without a token can be refused for the lack of one, unless the cookie replaces it. */
  private hasEnded(error: unknown, token: string | null): boolean {
    if (token !== null) return isPorticoError(error, 'ACCESS.TOKEN_INVALID', '4010')
    const isCookie = this.ports.settings.credentials === 'include'
    return isCookie && isPorticoError(error, 'ACCESS.TOKEN_INVALID', 'ACCESS.TOKEN_MISSING', '4010')
  }

  /** Without a channel, the call fails. It is never sent as plain text. */
  private async openChannel({ id }: CallableOperation, clientHash: string | null): Promise<Channel> {
    const channel = clientHash === null ? null : await this.ports.channels()?.get(clientHash)
    if (!channel) throw new TypeError(`${id} cannot be sealed: this client has no secure channel`)
    return channel
  }

  /** Returns false if neither token nor channel can be renewed, and no step-up helps. */
  private async recover(error: unknown, { route, args, accessToken, channel }: Tried): Promise<boolean> {
    if (this.hasEnded(error, accessToken)) return this.ports.tokens().replace(accessToken)
    // Without a session, nothing can be confirmed: an anonymous call has the factor in its body.
    const isConfirmable = route.operation.policy.caller !== 'anonymous'
    if (this.ports.stepUp && isConfirmable && isPorticoError(error, 'ACCESS.STEP_UP_REQUIRED')) {
      await this.ports.stepUp(route.operation, args)
      return true
    }
    if (!channel || !isPorticoError(error, 'SECURE_CHANNEL.INVALID_PAYLOAD')) return false
    this.ports.channels()?.invalidate(channel)
    return true
  }
}

/** A call that was refused. */
interface Tried {
  route: Route
  args: AnyArgs
  accessToken: string | null
  channel: Channel | null
}

interface AnyCaller {
  answer(operation: Operation, args: object): Promise<Answer<unknown>>
}

/** `Methods` and the routes derive from the same catalogue. */
export function createMethods<Methods>(routes: readonly NamedRoute[], caller: AnyCaller): Methods {
  return Object.fromEntries(
    routes.map(({ name, operation }) => [
      name,
      async (args: object = {}) => (await caller.answer(operation, args)).data,
    ]),
  ) as Methods
}

interface ListArgs {
  query?: object
  signal?: AbortSignal
}

interface ListPage<Item> {
  items: readonly Item[]
  pagination: { hasNext: boolean }
  nextCursor?: string | null | undefined
}

/** The largest page takes the fewest requests. */
const pageSize = 100

/**
 * Yields each record of a list, page by page: `for await (const order of iterate(client.listTransfers, { query }))`.
 * Records that are added meanwhile neither repeat nor hide others. Needs the default `sortBy`. Rejects like a call of the
 * method.
 */
export async function* iterate<Args extends [args?: ListArgs], Item>(
  list: (...args: Args) => Promise<ListPage<Item>>,
  ...[args]: Args
): AsyncGenerator<Item, void, undefined> {
  for (let before: string | null = 'start'; before !== null; ) {
    // The caller's arguments with two more fields of the query, which every paged list takes.
    const next = [{ ...args, query: { pageSize, ...args?.query, before } }] as unknown as Args
    const page: ListPage<Item> = await list(...next)
    for (const item of page.items) {
      args?.signal?.throwIfAborted()
      yield item
    }
    if (page.nextCursor === undefined && page.pagination.hasNext) throw new TypeError('the list does not take `before`')
    before = page.nextCursor ?? null
  }
}

/**
 * A page can change the object while the call waits for a code or a retry. Other bodies are immutable, or are sent as they
 * are.
 */
function copyOfJson(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || body instanceof FormData || body instanceof Blob) return body
  return JSON.parse(JSON.stringify(body))
}

function hasAuthorization({ headers = {} }: AnyArgs): boolean {
  return Object.keys(headers).some((name) => name.toLowerCase() === 'authorization')
}
