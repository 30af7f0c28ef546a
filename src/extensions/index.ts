/**
 * Domains that a deployment adds without a fork. Start reading with `load.ts`, which imports the configured modules.
 * definition.ts describes the fields of a domain. shape.ts takes the valid ones, and check.ts verifies their meaning.
 * modules.ts provides Portico's modules to them. handlers.ts wraps the handlers and
 * selects the ports. hooks.ts runs the hooks of commands.
 */
export { ExecutedOnce, selectPorts, withChecks } from './handlers.ts'
export { commandsWithoutTransaction, type Hooks, hookErrors, hooksOf, withHookCodes, withHooks } from './hooks.ts'
export { bankSwitch, isOff, type LoadResult, loadDomains } from './load.ts'
