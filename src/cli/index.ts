/*
 * The commands of the `portico` program, which src/cli.ts runs. Start reading with `command.ts`, then `serve.ts`.
 */
import type { Command } from './command.ts'

/** Every command of `portico`. Each command is loaded on demand, so that `serve` does not load the others. */
export const commands: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import('./serve.ts')).serve,
  migrate: async () => (await import('./init.ts')).migrate,
  'config check': async () => (await import('./print.ts')).configCheck,
  'keys rotate': async () => (await import('./keys.ts')).keysRotate,
  'keys revoke': async () => (await import('./keys.ts')).keysRevoke,
  'keys reseal': async () => (await import('./keys.ts')).keysReseal,
  'keys status': async () => (await import('./keys.ts')).keysStatus,
  conformance: async () => (await import('./deployment/conformance.ts')).conformance,
  load: async () => (await import('./deployment/load.ts')).load,
  openapi: async () => (await import('./print.ts')).openapi,
  client: async () => (await import('./client/client.ts')).client,
  init: async () => (await import('./init.ts')).init,
  'new domain': async () => (await import('./new-domain/new-domain.ts')).newDomain,
  'operator create': async () => (await import('./accounts.ts')).operatorCreate,
  'operator grant': async () => (await import('./rights.ts')).operatorGrant,
  'operator revoke': async () => (await import('./rights.ts')).operatorRevoke,
  'owner restore': async () => (await import('./rights.ts')).ownerRestore,
  'whitelist disable': async () => (await import('./accounts.ts')).whitelistDisable,
  'wallet open': async () => (await import('./wallets.ts')).walletOpen,
  'ledger verify': async () => (await import('./verify.ts')).ledgerVerify,
  'audit verify': async () => (await import('./verify.ts')).auditVerify,
}
