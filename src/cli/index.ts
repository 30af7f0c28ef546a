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
  archive: async () => (await import('./archive/archive.ts')).archive,
  status: async () => (await import('./status.ts')).status,
  explain: async () => (await import('./status.ts')).explain,
  conformance: async () => (await import('./deployment/conformance.ts')).conformance,
  load: async () => (await import('./deployment/load.ts')).load,
  openapi: async () => (await import('./print.ts')).openapi,
  client: async () => (await import('./client/client.ts')).client,
  init: async () => (await import('./init.ts')).init,
  'new domain': async () => (await import('./new-domain/new-domain.ts')).newDomain,
  'account find': async () => (await import('./people/find.ts')).accountFind,
  'account show': async () => (await import('./people/find.ts')).accountShow,
  'account suspend': async () => (await import('./people/account-commands.ts')).accountSuspend,
  'account reactivate': async () => (await import('./people/account-commands.ts')).accountReactivate,
  'account end-sessions': async () => (await import('./people/account-commands.ts')).accountEndSessions,
  'operator list': async () => (await import('./people/find.ts')).operatorList,
  'operator suspend': async () => (await import('./people/account-commands.ts')).operatorSuspend,
  'operator create': async () => (await import('./people/create-operator.ts')).operatorCreate,
  'operator passkey': async () => (await import('./people/passkey.ts')).operatorPasskey,
  'operator grant': async () => (await import('./people/rights.ts')).operatorGrant,
  'operator revoke': async () => (await import('./people/rights.ts')).operatorRevoke,
  'owner restore': async () => (await import('./people/rights.ts')).ownerRestore,
  'whitelist disable': async () => (await import('./people/whitelist.ts')).whitelistDisable,
  'wallet open': async () => (await import('./wallets.ts')).walletOpen,
  'ledger verify': async () => (await import('./verify.ts')).ledgerVerify,
  'audit verify': async () => (await import('./verify.ts')).auditVerify,
}
