/**
 * Extensions: domains that a deployment adds without a fork. Start reading with `load.ts`, which imports the modules that the
 * configuration names. check.ts verifies their definitions; modules.ts provides `portico` and `portico/contract` to them.
 * compose/domains.ts builds the handlers.
 */
export { loadDomains } from './load.ts'
