/**
 * Domains that a deployment adds without a fork. Start reading with `load.ts`, which imports the configured modules.
 * check.ts and package-version.ts verify them, and modules.ts provides Portico's modules to them. handlers.ts wraps the
 * handlers.
 */
export { type ExecutedOnce, withChecks } from './handlers.ts'
export { loadDomains } from './load.ts'
