import type { Operation } from '../kernel/index.ts'
import { withAbort } from './abort.ts'
import type { createExchange } from './attempt.ts'
import type { Channel, ChannelCache } from './channel/index.ts'
import { shouldSeal } from './channel/sealed-request.ts'
import { isPorticoError } from './errors.ts'
import { newRequestId } from './headers.ts'
import type { Answer, AnyArgs, Args, OperationCaller, Result } from './operation-types.ts'
import type { Settings } from './options.ts'
import { retry } from './retry.ts'
import type { Route } from './routes.ts'

export interface CallingParts {
  settings: Settings
  routes: readonly Route[]
  exchange: ReturnType<typeof createExchange>
  clientHash(): Promise<string | null>
  tokens(): TokenSource
  /** Null where there is no secure channel: on the second chain. */
  channels(): ChannelCache | null
}

/** Where bearer tokens come from. */
interface TokenSource {
  /** The token for the next call; null where there is none. */
  current(): Promise<string | null>
  /** Another one in the place of one that was refused; false where that is not to be had. */
  replace(refused: string): Promise<boolean>
}

const carriesOwnToken = ({ headers = {} }: AnyArgs): boolean =>
  Object.keys(headers).some((name) => name.toLowerCase() === 'authorization')

/** The way of a call: tokens and channel as it needs them, each put right once, and the whole tried again where that is safe. */
export const createCalling = (parts: CallingParts): OperationCaller => {
  const { settings, exchange, tokens, channels } = parts
  const routes = new Map<Operation, Route>(parts.routes.map((route) => [route.operation, route]))

  /** In the clear goes nothing that somebody wants sealed. */
  const openChannel = async ({ id }: Operation, clientHash: string | null): Promise<Channel> => {
    const channel = clientHash === null ? null : await channels()?.get(clientHash)
    if (!channel) throw new TypeError(`${id} cannot be sealed: this client has no secure channel`)
    return channel
  }

  /** Makes good what an attempt was refused for; false where that is not to be had. */
  const putRight = async (error: unknown, token: string | null, channel: Channel | null): Promise<boolean> => {
    if (token !== null && isPorticoError(error, 'ACCESS.TOKEN_INVALID', '4010')) return tokens().replace(token)
    if (!channel || !isPorticoError(error, 'SECURE_CHANNEL.INVALID_PAYLOAD')) return false
    channels()?.invalidate(channel)
    return true
  }

  const once = async (route: Route, args: AnyArgs, requestId: string): Promise<Answer<unknown>> => {
    const { operation } = route
    const signedIn = operation.policy.caller === 'account' && !carriesOwnToken(args)
    const sealed = shouldSeal(operation, settings.seal, args.seal)
    const righted = new Set<string>()
    for (;;) {
      const clientHash = await parts.clientHash()
      const accessToken = signedIn ? await tokens().current() : null
      const channel = sealed ? await openChannel(operation, clientHash) : null
      try {
        return await exchange({ route, args, requestId, clientHash, accessToken, channel })
      } catch (error) {
        const code = isPorticoError(error) ? error.code : ''
        if (righted.has(code) || !(await putRight(error, accessToken, channel))) throw error
        righted.add(code)
      }
    }
  }

  return {
    answer: async <O extends Operation>(operation: O, args: Args<O>): Promise<Answer<Result<O>>> => {
      const route = routes.get(operation)
      if (!route) throw new TypeError(`${operation.id} is not served to this client`)
      const requestId = args.requestId ?? newRequestId()
      const { idempotent, rate } = operation.policy
      const task = () => once(route, args, requestId)
      // A refresh is answered with the same successor for a while, so it may be tried again like a money command.
      const isRetried = idempotent || rate === 'refresh'
      const answer = await withAbort(args.signal, () => (isRetried ? retry(settings.retry, args.signal, task) : task()))
      // The exchange has checked the data against this operation's schema.
      return answer as Answer<Result<O>>
    },
  }
}

/**
 * A method per route, under the operation's export name. `Methods` follows from the same catalogue as the routes do;
 * test/client holds the two lists against each other.
 */
export const createMethods = <Methods>(routes: readonly Route[], calling: OperationCaller): Methods =>
  Object.fromEntries(
    routes.map(({ name, operation }) => [
      name,
      async (args: object = {}) => (await calling.answer(operation, args)).data,
    ]),
  ) as Methods
