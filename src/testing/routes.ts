import { z } from 'zod'
import { observedErrors } from '../contract/observed-errors.ts'
import {
  type Chain,
  type ChainId,
  chains,
  mountChain,
  type Operation,
  operationsIn,
  type PortalMount,
  pathParamNames,
} from '../kernel/index.ts'

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
export function pathWith({ chain, operation }: Route, params: Readonly<Record<string, string>>): string {
  return chain.prefix + operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => params[name] ?? unknownId)
}

/** Omits SCIM, whose replies have no envelope. */
export function routesOf(operations: readonly (readonly [name: string, operation: Operation])[]): Route[] {
  const checked = operations.filter(([, { protocol }]) => protocol === undefined)
  return checked.flatMap(([exportName, operation]) =>
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
}

/** Returns the routes of CONSUMER as a portal has them that the configuration declares. */
export function routesOn(mount: PortalMount, routes: readonly Route[]): Route[] {
  return routes
    .filter(({ chain }) => chain.portal === 'CONSUMER')
    .map((route) => {
      const chain = mountChain(route.chain, mount)
      const path = chain.prefix + route.path.slice(route.chain.prefix.length)
      return { ...route, name: `${route.operation.id} on ${route.chainId} of ${mount.portal}`, chain, path }
    })
}

export function routesIn(contract: object): Route[] {
  return routesOf(operationsIn(contract))
}

export function isBehindPortal({ chain }: Route): boolean {
  return chain.perimeter === 'portal'
}
export function needsAccount({ operation }: Route): boolean {
  return operation.policy.caller === 'account'
}
export function isInWorkspace({ operation }: Route): boolean {
  return operation.policy.workspace !== 'none'
}

export function hasJsonBody({ operation: { body } }: Route): boolean {
  return typeof body !== 'string'
}

/** Whether the route is a command that a read-only role must not execute. */
export function isWrite(route: Route): boolean {
  const { method, policy } = route.operation
  const readsOnly = policy.permission === null || policy.permission.endsWith(':read')
  return isInWorkspace(route) && route.chainId !== 'system' && (method !== 'GET' || !readsOnly)
}

/** Whether the route is a command of people with a JSON reply. */
export function isCommand({ chain, operation: { method, body, reply, policy } }: Route): boolean {
  return (
    chain.perimeter !== 'machine' &&
    method !== 'GET' &&
    policy.caller === 'account' &&
    !policy.permission?.endsWith(':read') &&
    body !== 'multipart' &&
    typeof reply !== 'string'
  )
}

/** Whether the reply contains an array. */
export function isList({ operation: { reply } }: Route): boolean {
  return (
    typeof reply !== 'string' &&
    JSON.stringify(z.toJSONSchema(reply, { unrepresentable: 'any' })).includes('"type":"array"')
  )
}

export function isPlainRead({ operation, chainId }: Route): boolean {
  return (
    chainId === 'consumer' &&
    operation.method === 'GET' &&
    operation.policy.workspace !== 'none' &&
    typeof operation.reply !== 'string' &&
    !observedErrors.has(operation.id) &&
    pathParamNames(operation.path).length === 0 &&
    (operation.query === undefined || operation.query.safeParse({}).success)
  )
}
