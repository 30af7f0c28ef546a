import './zod-config.ts'

import { createMethods, GatewayCaller } from './operation-caller.ts'
import type { OperationCaller, OperationsOf } from './operation-types.ts'
import { type ApiClientOptions, resolveOptions } from './options.ts'
import { listRoutes } from './routes.ts'
import { createTransport } from './transport.ts'

/** A method per operation of the api chain, and `answer` as in a portal's client. */
export type ApiClient = OperationsOf<'api'> & Pick<OperationCaller, 'answer'>

/** Creates the client of the api chain for machines: an API key, no sign-in, no secure channel. */
export const createApiClient = (options: ApiClientOptions): ApiClient => {
  const settings = resolveOptions({ ...options, seal: 'none' })
  const routes = listRoutes(['api'])
  const caller: OperationCaller = new GatewayCaller({
    settings,
    routes,
    transport: createTransport(settings.fetch),
    clientHash: async () => null,
    tokens: () => ({ current: async () => options.apiKey, replace: async () => false }),
    channels: () => null,
  })
  return Object.assign(createMethods<OperationsOf<'api'>>(routes, caller), { answer: caller.answer })
}
