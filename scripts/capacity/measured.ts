import { fileURLToPath } from 'node:url'
import type { TableSize } from './counters.ts'

export type Kind = 'read' | 'coldRead' | 'transfer' | 'signIn'

/** Averages per request. */
export interface RequestCost {
  requests: number
  gatewayMs: number
  postgresMs: number
  redisMs: number
  redisCommands: number
  walBytes: number
  walPageBytes: number
  tables: Record<string, TableSize>
}

/** `npm run capacity:measure` writes it to measured.json. */
export interface Measured {
  /** The command and its date. */
  source: string
  machine: string
  requests: Record<Kind, RequestCost>
  idle: { gatewayMs: number; postgresMs: number }
  redisBytesPerAccount: number
  accountTables: Record<string, number>
  sealedPerSecond: number
  ledgerCheckMicrosPerEntry: number
  check: {
    accounts: number
    seconds: number
    reads: number
    transfers: number
    total: RequestCost
  }
}

export const measuredFile = fileURLToPath(new URL('measured.json', import.meta.url))

/** Figures of docs/performance.md and docs/guides, which the measurement does not repeat. */
interface Documented {
  /** docs/appendix/measurements.md, "Full run": 2.21 CPU seconds per 10,000 proxied GETs. */
  proxiedMs: number
  /** docs/performance.md: events from the outbox to the feed, on a busy host. */
  eventsPerSecond: number
  /** docs/guides/postgresql.md, "Connect": `database.poolSize` and four more. */
  connectionsPerGateway: number
  /** docs/guides/redis.md, "Size the memory". */
  redisBaseBytes: number
  emailCounterBytes: number
}

export const documented: Documented = {
  proxiedMs: 0.221,
  eventsPerSecond: 6_500,
  connectionsPerGateway: 20,
  redisBaseBytes: 2_000_000,
  emailCounterBytes: 360,
}
