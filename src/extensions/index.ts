/**
 * Extensions: domains that a deployment adds without a fork. `load.ts` imports the modules that the configuration names and
 * check.ts verifies their definitions; modules.ts provides `portico` and `portico/contract` to them. Start reading with
 * `domain.ts`. compose/extensions.ts builds the handlers.
 */
export {
  type Domain,
  type DomainParts,
  type DomainPorts,
  type Extension,
  type IdempotentRequest,
  toContract,
} from './domain.ts'
export { loadExtensions } from './load.ts'
