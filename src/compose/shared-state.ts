import type { Logger } from 'pino'
import type { Configuration } from '../config/index.ts'
import { acquireSingletonLock } from '../database/index.ts'
import type { Clock } from '../kernel/index.ts'
import { type Cache, createMemoryCache, createRedisCache } from '../platform/cache/index.ts'
import { createRedisLimitStores, type StoreFactory } from '../platform/limits/index.ts'

import { createLocalPubSub, createRedisPubSub, type PubSub } from '../platform/pubsub.ts'
import { openRedis } from '../platform/redis/index.ts'

/** State that replicas share through Redis, or that a single process keeps in memory. */
export interface SharedState {
  cache: Cache
  announcements: PubSub
  /** Undefined: the counters are in memory. */
  counters: StoreFactory | undefined
  probes: { name: string; check(): Promise<unknown> }[]
}

/** Entries of the memory cache: counters, and groups of replay windows, which `secureChannel.maxSessions` bounds. */
const cacheEntries = 200_000

const states = {
  lost: 'the connection that keeps other gateways away broke',
  held: 'other gateways are kept away again',
  taken: 'ANOTHER GATEWAY RUNS ON THIS DATABASE WITHOUT REDIS: this one is not ready any more',
}

const openLocalState = async (
  { databaseUrl, database }: Configuration,
  mayBeSeveral: boolean,
  clock: Clock,
  logger: Logger,
  stack: AsyncDisposableStack,
): Promise<SharedState> => {
  const cache = createMemoryCache(clock, cacheEntries)
  stack.defer(() => cache.close())
  const shared = { cache, announcements: createLocalPubSub(), counters: undefined }
  // The embedded store already belongs to one process.
  if (!databaseUrl || mayBeSeveral) return { ...shared, probes: [] }
  const lock = await acquireSingletonLock({
    url: databaseUrl.reveal(),
    connectTimeoutMs: database.connectTimeoutMs,
    onChange: (state) => logger[state === 'held' ? 'info' : 'error'](states[state]),
  })
  stack.defer(() => lock.release())
  return { ...shared, probes: [{ name: 'alone', check: () => lock.check() }] }
}

/**
 * Opens Redis if REDIS_URL is set, and memory otherwise. Without Redis a gateway must be the only one on its database, and
 * refuses to start next to another. `mayBeSeveral` is for domain services, which keep no state here.
 */
export const openSharedState = async (
  settings: Configuration,
  mayBeSeveral: boolean,
  clock: Clock,
  logger: Logger,
  stack: AsyncDisposableStack,
): Promise<SharedState> => {
  const { redisUrl } = settings
  if (!redisUrl) return openLocalState(settings, mayBeSeveral, clock, logger, stack)
  let troubled = false
  const redis = await openRedis({
    url: redisUrl.reveal(),
    ...settings.redis,
    onError: (error) => {
      if (!troubled) logger.warn({ err: error }, 'the connection to Redis broke')
      troubled = true
    },
    onReady: () => {
      if (troubled) logger.info('Redis is there again')
      troubled = false
    },
    onEvicting: (policy) =>
      logger.warn(
        { policy },
        'REDIS FORGETS WHEN IT IS FULL, who has used up a limit too: set maxmemory-policy noeviction',
      ),
  })
  stack.defer(() => redis.close())
  return {
    cache: createRedisCache(redis),
    announcements: createRedisPubSub(redis),
    counters: createRedisLimitStores(redis),
    probes: [{ name: 'cache', check: redis.check }],
  }
}
