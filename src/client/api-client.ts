import './zod-config.ts'

import { createExchange } from './attempt.ts'
import { createCalling, createMethods } from './operation-caller.ts'
import type { OperationCaller, OperationsOf } from './operation-types.ts'
import { type ApiClientOptions, resolveOptions } from './options.ts'
import { listRoutes } from './routes.ts'
import { createTransport } from './transport.ts'

/** A method per operation of the second chain, and `answer`, as a portal's client has them. */
export type ApiClient = OperationsOf<'api'> & Pick<OperationCaller, 'answer'>

/** The client of the second chain: a machine's, by an API key, without sign-in and secure channel. */
export const createApiClient = (options: ApiClientOptions): ApiClient => {
  const settings = resolveOptions({ ...options, seal: 'none' })
  const routes = listRoutes(['api'])
  const calling = createCalling({
    settings,
    routes,
    exchange: createExchange(settings, createTransport(settings.fetch)),
    clientHash: async () => null,
    tokens: () => ({ current: async () => options.apiKey, replace: async () => false }),
    channels: () => null,
  })
  return Object.assign(createMethods<OperationsOf<'api'>>(routes, calling), { answer: calling.answer })
}
