/*
 * The commands of the `portico` program, which src/cli.ts runs. `serve` starts the gateway; the others check, print or
 * maintain a store. Start reading with `command.ts`, then `serve.ts`.
 */
import type { Command } from './command.ts'

/** Every command of `portico`. Each is loaded on demand, so that `serve` does not load the others. */
export const commands: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import('./serve.ts')).serve,
  migrate: async () => (await import('./maintenance.ts')).migrate,
  'config check': async () => (await import('./print.ts')).configCheck,
  'keys rotate': async () => (await import('./maintenance.ts')).keysRotate,
  conformance: async () => (await import('./conformance.ts')).conformance,
  openapi: async () => (await import('./print.ts')).openapi,
  init: async () => (await import('./init.ts')).init,
  'operator create': async () => (await import('./accounts.ts')).operatorCreate,
  'whitelist disable': async () => (await import('./accounts.ts')).whitelistDisable,
  'ledger verify': async () => (await import('./verify.ts')).ledgerVerify,
  'audit verify': async () => (await import('./verify.ts')).auditVerify,
}
