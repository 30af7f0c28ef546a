/**
 * Audit entries and idempotency of commands that services behind OpenAPI documents execute, and the services to which
 * commands of domains with a canary were sent. Start with service-commands.ts. Depends on the database, the audit log and the kernel.
 */
export { expiredCommandCleanup, type SentCommand, ServiceCommands } from './service-commands.ts'
export { type CommandKey, type PlacedCommand, recordPlace } from './store.ts'
