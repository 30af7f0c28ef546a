import type { Command } from './command.ts'

/** Every command of `portico`. Each is loaded on demand, so that `serve` does not load the others. */
export const commands: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import('./serve.ts')).serve,
  migrate: async () => (await import('./migrate.ts')).migrate,
  'config check': async () => (await import('./config-check.ts')).configCheck,
  'keys rotate': async () => (await import('./keys-rotate.ts')).keysRotate,
  conformance: async () => (await import('./conformance.ts')).conformance,
  openapi: async () => (await import('./openapi.ts')).openapi,
  'operator create': async () => (await import('./operator-create.ts')).operatorCreate,
  'whitelist disable': async () => (await import('./whitelist-disable.ts')).whitelistDisable,
  'ledger verify': async () => (await import('./ledger-verify.ts')).ledgerVerify,
  'audit verify': async () => (await import('./audit-verify.ts')).auditVerify,
}
