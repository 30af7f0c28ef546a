import './browser.ts'

import type { Calling } from './calling.ts'
import type { OperationsOf } from './contract-types.ts'
import { createCalling } from './create-calling.ts'
import { createExchange } from './exchange.ts'
import { methodsOf } from './methods.ts'
import { type ApiClientOptions, settle } from './options.ts'
import { routesOf } from './routes.ts'
import { createTransport } from './transport/index.ts'

/** A method per operation of the second chain, and `answer`, as a portal's client has them. */
export type ApiClient = OperationsOf<'api'> & Pick<Calling, 'answer'>

/** The client of the second chain: a machine's, by an API key, without sign-in and secure channel. */
export const createApiClient = (options: ApiClientOptions): ApiClient => {
  const settings = settle({ ...options, seal: 'none' })
  const routes = routesOf(['api'])
  const calling = createCalling({
    settings,
    routes,
    exchange: createExchange(settings, createTransport(settings.fetch)),
    clientHash: async () => null,
    tokens: () => ({ current: async () => options.apiKey, replace: async () => false }),
    channels: () => null,
  })
  return Object.assign(methodsOf<OperationsOf<'api'>>(routes, calling), { answer: calling.answer })
}
