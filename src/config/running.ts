import { z } from 'zod'

const milliseconds = z.int().min(0)

/** The SQL store. What is not to be had within its time is answered 503. */
export const databaseSettings = z.strictObject({
  /** Connections that one process may hold to PostgreSQL. */
  poolSize: z.int().min(1),
  connectTimeoutMs: milliseconds,
  statementTimeoutMs: milliseconds,
  /** How long a statement may wait for a lock; shorter than the statement's own time. */
  lockTimeoutMs: milliseconds,
  /** Below so much free room the embedded store is read only, since PGlite does not survive a full disk. */
  minimumFreeBytes: z.int().min(0),
})

/** REDIS_URL says where. */
export const redisSettings = z.strictObject({
  /** Whether REDIS_URL names a node of a Redis Cluster. */
  cluster: z.boolean(),
  connectTimeoutMs: milliseconds,
  /** Without an answer by then the request that asked is refused. */
  commandTimeoutMs: z.int().min(10).max(1_000),
})

/** SIGTERM and SIGINT. */
export const shutdownSettings = z.strictObject({
  /** From readiness dropping to the listener closing: longer than load balancers take to notice. */
  delayMs: milliseconds,
  /** Accepted requests have so long to finish after that; then their connections are cut. */
  timeoutMs: milliseconds,
})
