/*
 * One file for each kind of promise. Portico's end-to-end tests register the same suites in each topology. A `World` is
 * a gateway with signed-in accounts. Start reading with `perimeter.ts`.
 */
export type { Call } from '../http.ts'
export { isWrite, routesOn } from '../routes.ts'
export { toRunner } from '../runner.ts'
export { type Gateway, World } from '../world.ts'
export { registerAudit } from './audit.ts'
export { registerCatalogue } from './catalogue.ts'
export { registerIdempotency } from './idempotency.ts'
export { registerPerimeter } from './perimeter.ts'
export { registerReadOnly } from './read-only.ts'
export { registerRefusals } from './refusals.ts'
export { registerReplies } from './replies.ts'
export { registerSandbox } from './sandbox.ts'
export { needsSample, type Suite } from './suite.ts'
export { registerTenancy } from './tenancy.ts'
export { registerValidation } from './validation.ts'
