import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

interface Build {
  version: string
  role: string
}

/** Alerts use it to notice that no replica is left. */
export function createBuildMetrics(registry: Registry, { version, role }: Build): void {
  new Gauge({
    name: 'portico_build_info',
    aggregator: 'first',
    help: 'Versions of Portico and Node, and the role of the process; always 1',
    labelNames: ['version', 'node', 'role'],
    registers: [registry],
  }).set({ version, node: process.versions.node, role }, 1)
}

/** `read` returns whether each check of /health/ready is ok. */
export function createReadinessMetrics(
  registry: Registry,
  read: () => Promise<Readonly<Record<string, boolean>>>,
): void {
  new Gauge({
    name: 'portico_ready',
    aggregator: 'max',
    help: 'Whether a check of /health/ready is ok (1) or not (0), by check',
    labelNames: ['check'],
    registers: [registry],
    async collect() {
      for (const [check, isReady] of Object.entries(await read())) this.set({ check }, isReady ? 1 : 0)
    },
  })
}

export function createPoolMetrics(registry: Registry, read: () => { inUse: number; size: number }): void {
  const registers = [registry]
  new Gauge({
    name: 'portico_database_connections_max',
    aggregator: 'sum',
    help: 'Maximum number of connections to PostgreSQL; 0 with the embedded store',
    registers,
    collect() {
      this.set(read().size)
    },
  })
  new Gauge({
    name: 'portico_database_connections_in_use',
    aggregator: 'sum',
    help: 'Connections to PostgreSQL that are in use; 0 with the embedded store',
    registers,
    collect() {
      this.set(read().inUse)
    },
  })
}

export function createClockMetrics(registry: Registry, aheadMs: () => number): void {
  new Gauge({
    name: 'portico_clock_skew_seconds',
    aggregator: 'first',
    help: 'How far this process is ahead of the database; negative if it is behind',
    registers: [registry],
    collect() {
      this.set(aheadMs() / 1_000)
    },
  })
}

/** In bytes, of the fullest server. A maximum of 0 means no limit. */
export interface RedisMemory {
  used: number
  max: number
}

const unknown: RedisMemory = { used: Number.NaN, max: Number.NaN }

/** The values are 0 without Redis, and NaN if it does not respond. */
export function createRedisMetrics(registry: Registry, read: () => Promise<RedisMemory>): void {
  const registers = [registry]
  let reading: Promise<RedisMemory> | null = null
  const readOnce = (): Promise<RedisMemory> => {
    reading ??= read()
      .catch(() => unknown)
      .finally(() => {
        reading = null
      })
    return reading
  }
  new Gauge({
    name: 'portico_redis_memory_max_bytes',
    aggregator: 'max',
    help: 'Memory limit of the fullest Redis server (maxmemory); 0 without a limit',
    registers,
    async collect() {
      this.set((await readOnce()).max)
    },
  })
  new Gauge({
    name: 'portico_redis_memory_bytes',
    aggregator: 'max',
    help: 'Memory that the fullest Redis server uses; 0 without Redis',
    registers,
    async collect() {
      this.set((await readOnce()).used)
    },
  })
}

/** NaN if this process stores nothing on disk. */
export function createDiskMetrics(registry: Registry, readFreeBytes: (() => Promise<number>) | null): void {
  new Gauge({
    name: 'portico_data_free_bytes',
    aggregator: 'min',
    help: 'Free bytes on the disk of the data directory; NaN if the process stores nothing there',
    registers: [registry],
    async collect() {
      this.set((await readFreeBytes?.().catch(() => Number.NaN)) ?? Number.NaN)
    },
  })
}

export type MailMetrics = (outcome: 'sent' | 'failed') => void

export function createMailMetrics(registry: Registry): MailMetrics {
  const attempts = new Counter({
    name: 'portico_mail_attempts_total',
    help: 'Attempts to hand a mail over to the mail server, by outcome',
    labelNames: ['outcome'],
    registers: [registry],
  })
  for (const outcome of ['sent', 'failed']) attempts.inc({ outcome }, 0)
  return (outcome) => attempts.inc({ outcome })
}

/** `aborted`: the source of the bytes failed, such as a client that broke off its upload. */
export type BlobMetrics = (
  operation: 'put' | 'get' | 'delete',
  outcome: 'ok' | 'failed' | 'aborted',
  seconds: number,
) => void

export function createBlobMetrics(registry: Registry): BlobMetrics {
  const durations = new Histogram({
    name: 'portico_blob_seconds',
    help: 'Duration of operations of the file store, by operation and outcome',
    labelNames: ['operation', 'outcome'],
    buckets: [0.005, 0.025, 0.1, 0.5, 2.5, 10],
    registers: [registry],
  })
  // Each series starts with 0, so that alerts notice the first failure.
  for (const operation of ['put', 'get', 'delete'])
    for (const outcome of ['ok', 'failed', 'aborted']) durations.zero({ operation, outcome })
  return (operation, outcome, seconds) => durations.observe({ operation, outcome }, seconds)
}
