import { namedOperations } from '../../src/contract/index.ts'
import { isBehindPortal, type Route, routesOf, unknownId } from '../../src/testing/routes.ts'

export { type Route, unknownId }

export const routes: Route[] = routesOf(namedOperations)

export const portalRoutes = routes.filter(isBehindPortal)
