import { longestTimer, type Operation } from '../kernel/index.ts'
import type { Channel } from './channel/index.ts'
import type { AnyArgs } from './contract-types.ts'
import { headersOf } from './headers.ts'
import type { Settings } from './options.ts'
import { pathOf, queryOf, type Route } from './routes.ts'
import { type SealedRequest, sealRequest } from './sealing.ts'
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
}

const bodyOf = (body: unknown): string | FormData | null => {
  if (body === undefined) return null
  return body instanceof FormData ? body : JSON.stringify(body)
}

/** The gateway takes a refresh token again for 30 s after it has answered it; a lost answer is asked for again before. */
const refreshTimeoutMs = 10_000

/** How long an attempt may take; null for bytes, which take as long as they take. */
const timeoutOf = ({ reply, body, policy }: Operation, timeoutMs: number): number | null => {
  if (reply === 'stream' || body === 'multipart') return null
  const bound = policy.rate === 'refresh' ? Math.min(timeoutMs, refreshTimeoutMs) : timeoutMs
  // AbortSignal.timeout takes whole milliseconds.
  return bound > longestTimer ? null : Math.ceil(bound)
}

/** The request of an attempt, sealed where it has a channel. */
export const prepare = async (settings: Settings, attempt: Attempt): Promise<Prepared> => {
  const { route, args, channel } = attempt
  const { method } = route.operation
  const path = pathOf(route, args.params)
  const target = path + queryOf(args.query)
  const sealed = await sealRequest(channel, method, path, bodyOf(args.body))
  const request = {
    method,
    url: settings.baseUrl + target,
    headers: { ...headersOf(settings, attempt), ...sealed.headers },
    body: sealed.body,
    signal: args.signal,
    timeoutMs: timeoutOf(route.operation, settings.timeoutMs),
    onProgress: args.onProgress,
  }
  return { request, target, open: sealed.open }
}
