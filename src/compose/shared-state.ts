import type { Logger } from 'pino'
import type { Configuration } from '../config/index.ts'
import { acquireSingletonLock } from '../database/index.ts'
import type { Clock } from '../kernel/index.ts'
import { type Cache, createMemoryCache, createRedisCache } from '../platform/cache/index.ts'
import type { DependencyLog } from '../platform/dependency-log.ts'
import { createRedisCounters, type SharedCounters } from '../platform/limits/index.ts'

import { createLocalPubSub, createRedisPubSub, type PubSub } from '../platform/pubsub.ts'
import { isRedisAway, openRedis } from '../platform/redis/index.ts'
import { lookup } from '../platform/runtime/index.ts'
import { openWhenBack, type StoreWait } from '../platform/store-wait.ts'
import type { RedisMemory } from '../platform/telemetry/index.ts'
import type { ClientSpans } from '../platform/tracing/index.ts'

export interface SharedState {
  cache: Cache
  pubsub: PubSub
  /** Undefined if the counters are in memory. */
  counters: SharedCounters | undefined
  probes: { name: string; check(): Promise<unknown> }[]
  /** In bytes; 0 without Redis. */
  redisMemory(): Promise<RedisMemory>
}

/** Counters and groups of replay windows. `secureChannel.maxSessions` limits the number of groups. */
const cacheEntries = 200_000

const lockMessages = {
  lost: 'connection of the singleton lock lost',
  held: 'singleton lock held again',
  taken: 'another gateway without Redis runs on this database; this one is not ready',
}

interface Ports {
  clock: Clock
  logger: Logger
  dependencies: DependencyLog
  spans: ClientSpans | null
  wait: StoreWait | null
}

/**
 * Without REDIS_URL, a gateway starts only if no other one runs on its database. Domain services share no state and set
 * `allowReplicas`.
 */
export async function openSharedState(
  settings: Configuration,
  allowReplicas: boolean,
  { clock, logger, dependencies, spans, wait }: Ports,
  stack: AsyncDisposableStack,
): Promise<SharedState> {
  const { redisUrl } = settings
  if (!redisUrl) return openLocalState(settings, allowReplicas, clock, logger, stack)
  // Until then, the error that ends the start has the reason.
  let isOpen = false
  const open = () =>
    openRedis({
      url: redisUrl.reveal(),
      ...settings.redis,
      trace: spans?.traceCommands(redisUrl.reveal()),
      onError: (error, part) => {
        if (isOpen) dependencies.failed(part, error)
      },
      onReady: dependencies.works,
      onEvicting: (policy) =>
        logger.warn(
          { policy },
          'Redis evicts keys when it is full, rate limit counters included; set maxmemory-policy noeviction',
        ),
    })
  const redis = await openWhenBack('redis', open, isRedisAway, wait)
  isOpen = true
  stack.defer(() => redis.close())
  return {
    cache: createRedisCache(redis),
    pubsub: createRedisPubSub(redis),
    counters: createRedisCounters(redis, settings.redis),
    redisMemory: redis.memory,
    probes: [{ name: 'cache', check: redis.check }],
  }
}

async function openLocalState(
  { databaseUrl, database }: Configuration,
  allowReplicas: boolean,
  clock: Clock,
  logger: Logger,
  stack: AsyncDisposableStack,
): Promise<SharedState> {
  const cache = createMemoryCache(clock, cacheEntries)
  stack.defer(() => cache.close())
  const redisMemory = async () => ({ used: 0, max: 0 })
  const shared = { cache, pubsub: createLocalPubSub(), counters: undefined, redisMemory }
  // Only one process can use an embedded store.
  if (!databaseUrl || allowReplicas) return { ...shared, probes: [] }
  const lock = await acquireSingletonLock({
    url: databaseUrl.reveal(),
    connectTimeoutMs: database.connectTimeoutMs,
    lookup,
    onChange: (state) => logger[state === 'held' ? 'info' : 'error'](lockMessages[state]),
  })
  stack.defer(() => lock.release())
  return { ...shared, probes: [{ name: 'singleton-lock', check: () => lock.check() }] }
}
