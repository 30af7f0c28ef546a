import { inject } from 'vitest'
import { namedOperations } from '../../src/contract/index.ts'
import { isBehindPortal, type Route, routesOf, unknownId } from '../../src/testing/routes.ts'

export { type Route, unknownId }

export const routes: Route[] = routesOf(namedOperations)

export const portalRoutes = routes.filter(isBehindPortal)

function stagesOf({ operation: { policy } }: Route): unknown[] {
  const { caller, workspace, permission, stepUp, channel, idempotent } = policy
  return [caller, workspace, permission !== null, stepUp, channel, idempotent]
}

/** The first route of each chain, method and combination of stages. */
const samples = [
  ...Map.groupBy(routes, (route) => JSON.stringify([route.chainId, route.method, stagesOf(route)])).values(),
].flatMap(([first]) => first ?? [])

/** A generated test runs for every route on the embedded store. Elsewhere, a sample reaches every stage. */
export function routesOfTopology(): Route[] {
  return inject('topology') === 'embedded' ? routes : samples
}
