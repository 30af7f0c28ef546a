import { z } from 'zod'
import { observedErrors } from '../contract/policies.ts'
import { type Chain, type ChainId, chains, type Operation, operationsIn, pathParamNames } from '../kernel/index.ts'

export interface Route {
  /** `<operation id> on <chain>`. */
  name: string
  /** The export name in the contract, and the client's method. */
  exportName: string
  operation: Operation
  chainId: ChainId
  chain: Chain
  method: string
  /** Contains an unknown id for each parameter. */
  path: string
}

export const unknownId = '01990000-0000-7000-8000-00000000dead'

/** A parameter without a value becomes an unknown id. */
export const pathWith = ({ chain, operation }: Route, params: Readonly<Record<string, string>>): string =>
  chain.prefix + operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => params[name] ?? unknownId)

export const routesOf = (operations: readonly (readonly [name: string, operation: Operation])[]): Route[] =>
  operations.flatMap(([exportName, operation]) =>
    operation.chains.map((chainId) => ({
      name: `${operation.id} on ${chainId}`,
      exportName,
      operation,
      chainId,
      chain: chains[chainId],
      method: operation.method,
      path: chains[chainId].prefix + operation.path.replaceAll(/\{\w+\}/g, unknownId),
    })),
  )

export const routesIn = (contract: object): Route[] => routesOf(operationsIn(contract))

export const isBehindPortal = ({ chain }: Route): boolean => chain.perimeter === 'portal'
export const needsAccount = ({ operation }: Route): boolean => operation.policy.caller === 'account'
export const isInWorkspace = ({ operation }: Route): boolean => operation.policy.workspace !== 'none'

export const hasJsonBody = ({ operation: { body } }: Route): boolean => typeof body !== 'string'

/** Whether the route is a command that a read-only role must not execute. */
export const isWrite = (route: Route): boolean => {
  const { method, policy } = route.operation
  const readsOnly = policy.permission === null || policy.permission.endsWith(':read')
  return isInWorkspace(route) && route.chainId !== 'system' && (method !== 'GET' || !readsOnly)
}

/** Whether the route is a command of people with a JSON reply. */
export const isCommand = ({ chainId, operation: { method, body, reply, policy } }: Route): boolean =>
  chainId !== 'api' &&
  method !== 'GET' &&
  policy.caller === 'account' &&
  !policy.permission?.endsWith(':read') &&
  body !== 'multipart' &&
  typeof reply !== 'string'

/** Whether the reply contains an array. */
export const isList = ({ operation: { reply } }: Route): boolean =>
  typeof reply !== 'string' &&
  JSON.stringify(z.toJSONSchema(reply, { unrepresentable: 'any' })).includes('"type":"array"')

export const isPlainRead = ({ operation, chainId }: Route): boolean =>
  chainId === 'consumer' &&
  operation.method === 'GET' &&
  operation.policy.workspace !== 'none' &&
  typeof operation.reply !== 'string' &&
  !observedErrors.has(operation.id) &&
  pathParamNames(operation.path).length === 0 &&
  (operation.query === undefined || operation.query.safeParse({}).success)
