/**
 * Domains that a deployment adds without a fork. Start reading with `load.ts`, which imports the configured modules.
 * check.ts and package-version.ts verify them, repair.ts replaces invalid parts for further checks, and modules.ts
 * provides Portico's modules to them. handlers.ts wraps the handlers.
 */
export { ExecutedOnce, type HandlerChecks, withChecks } from './handlers.ts'
export { type LoadResult, loadDomains } from './load.ts'
