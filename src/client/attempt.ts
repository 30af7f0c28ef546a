import type { Channel } from './channel/index.ts'
import type { AnyArgs } from './contract-types.ts'
import { headersOf } from './headers.ts'
import type { Settings } from './options.ts'
import { pathOf, queryOf, type Route } from './routes.ts'
import { type SealedRequest, sealRequest } from './sealing.ts'
import { eitherOf, timeLimit } from './time-limit.ts'
import type { WireRequest } from './transport/index.ts'

/** One try of a call: all that may change from one try to the next stands here. */
export interface Attempt {
  route: Route
  args: AnyArgs
  requestId: string
  clientHash: string | null
  accessToken: string | null
  channel: Channel | null
}

export interface Prepared {
  request: WireRequest
  /** Below the base URL, with its query. */
  target: string
  open: SealedRequest['open']
  /** Whether its time is up. What the request then ends with differs among browsers. */
  isLate(): boolean
}

const bodyOf = (body: unknown): string | FormData | null => {
  if (body === undefined) return null
  return body instanceof FormData ? body : JSON.stringify(body)
}

/** The request of an attempt, sealed where it has a channel. */
export const prepare = async (settings: Settings, attempt: Attempt): Promise<Prepared> => {
  const { route, args, channel } = attempt
  const { method } = route.operation
  const path = pathOf(route, args.params)
  const target = path + queryOf(args.query)
  const sealed = await sealRequest(channel, method, path, bodyOf(args.body))
  const limit = timeLimit(route.operation, settings.timeoutMs)
  const request = {
    method,
    url: settings.baseUrl + target,
    headers: { ...headersOf(settings, attempt), ...sealed.headers },
    body: sealed.body,
    signal: eitherOf(args.signal, limit),
    onProgress: args.onProgress,
  }
  return { request, target, open: sealed.open, isLate: () => limit?.aborted === true }
}
