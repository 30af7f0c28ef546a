import type { Operation } from '../kernel/index.ts'
import { withAbort } from './abort.ts'
import { sendAttempt } from './attempt.ts'
import type { Channel, ChannelCache } from './channel/channel.ts'
import { shouldSeal } from './channel/sealed-request.ts'
import { isPorticoError } from './errors.ts'
import { newRequestId } from './headers.ts'
import type { Answer, AnyArgs, Args, OperationCaller, Result } from './operation-types.ts'
import type { Settings } from './options.ts'
import { retry } from './retry.ts'
import type { Route } from './routes.ts'
import type { Transport } from './transport.ts'

/** The ports of a caller. `tokens` and `channels` are functions, because both call operations themselves. */
export interface CallerPorts {
  settings: Settings
  routes: readonly Route[]
  transport: Transport
  clientHash(): Promise<string | null>
  tokens(): TokenSource
  /** Null on the api chain, which has no secure channel. */
  channels(): ChannelCache | null
}

/** The source of bearer tokens. */
interface TokenSource {
  /** Returns the token for the next call, or null without a sign-in. */
  current(): Promise<string | null>
  /** Renews a token that the gateway rejected. Returns false if it cannot be renewed. */
  replace(rejected: string): Promise<boolean>
}

const hasAuthorization = ({ headers = {} }: AnyArgs): boolean =>
  Object.keys(headers).some((name) => name.toLowerCase() === 'authorization')

/** Calls operations with the token and channel that they need, and retries idempotent ones. */
export class GatewayCaller implements OperationCaller {
  private readonly ports: CallerPorts
  private readonly routes: ReadonlyMap<Operation, Route>

  constructor(ports: CallerPorts) {
    this.ports = ports
    this.routes = new Map(ports.routes.map((route) => [route.operation, route]))
  }

  readonly answer = async <O extends Operation>(operation: O, args: Args<O>): Promise<Answer<Result<O>>> => {
    const route = this.routes.get(operation)
    if (!route) throw new TypeError(`${operation.id} is not served to this client`)
    const requestId = args.requestId ?? newRequestId()
    const { idempotent, rate } = operation.policy
    const task = () => this.callOnce(route, args, requestId)
    // The gateway repeats the reply to a refresh for 30 s, so a refresh can be retried like a money command.
    const isRetried = idempotent || rate === 'refresh'
    const answer = await withAbort(args.signal, () =>
      isRetried ? retry(this.ports.settings.retry, args.signal, task) : task(),
    )
    // sendAttempt has validated the data against this operation's schema.
    return answer as Answer<Result<O>>
  }

  /** Sends a call. Sends it again after renewing a rejected token or reopening a lost channel, at most once each. */
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
        return await sendAttempt(this.ports, { route, args, requestId, clientHash, accessToken, channel })
      } catch (error) {
        const code = isPorticoError(error) ? error.code : ''
        if (recovered.has(code) || !(await this.recover(error, accessToken, channel))) throw error
        recovered.add(code)
      }
    }
  }

  /** Never falls back to plain text: a call that must be sealed fails without a channel. */
  private async openChannel({ id }: Operation, clientHash: string | null): Promise<Channel> {
    const channel = clientHash === null ? null : await this.ports.channels()?.get(clientHash)
    if (!channel) throw new TypeError(`${id} cannot be sealed: this client has no secure channel`)
    return channel
  }

  /** Removes the cause of a refusal. Returns false if that is not possible. */
  private async recover(error: unknown, token: string | null, channel: Channel | null): Promise<boolean> {
    if (token !== null && isPorticoError(error, 'ACCESS.TOKEN_INVALID', '4010'))
      return this.ports.tokens().replace(token)
    if (!channel || !isPorticoError(error, 'SECURE_CHANNEL.INVALID_PAYLOAD')) return false
    this.ports.channels()?.invalidate(channel)
    return true
  }
}

/**
 * Returns a method per route, by the operation's export name. `Methods` derives from the same catalogue as the routes.
 */
export const createMethods = <Methods>(routes: readonly Route[], caller: OperationCaller): Methods =>
  Object.fromEntries(
    routes.map(({ name, operation }) => [
      name,
      async (args: object = {}) => (await caller.answer(operation, args)).data,
    ]),
  ) as Methods
