import type { Logger } from 'pino'
import type { Configuration } from '../config/index.ts'
import { acquireSingletonLock } from '../database/index.ts'
import type { Clock } from '../kernel/index.ts'
import { type Cache, createMemoryCache, createRedisCache } from '../platform/cache/index.ts'
import type { StoreFactory } from '../platform/limits/index.ts'
import { createRedisLimitStores } from '../platform/limits/index.ts'
import { createLocalPubSub, createRedisPubSub, type PubSub } from '../platform/pubsub.ts'
import { openRedis } from '../platform/redis/index.ts'

/** What replicas share, or what one process alone has. */
export interface Shared {
  cache: Cache
  announcements: PubSub
  /** Undefined: counters in memory. */
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

const openAlone = async (
  { databaseUrl, database }: Configuration,
  mayBeSeveral: boolean,
  clock: Clock,
  logger: Logger,
  stack: AsyncDisposableStack,
): Promise<Shared> => {
  const cache = createMemoryCache(clock, cacheEntries)
  stack.defer(() => cache.close())
  const shared = { cache, announcements: createLocalPubSub(), counters: undefined }
  // An embedded store belongs to one process anyway.
  if (!databaseUrl || mayBeSeveral) return { ...shared, probes: [] }
  const alone = await acquireSingletonLock({
    url: databaseUrl.reveal(),
    connectTimeoutMs: database.connectTimeoutMs,
    onChange: (state) => logger[state === 'held' ? 'info' : 'error'](states[state]),
  })
  stack.defer(() => alone.release())
  return { ...shared, probes: [{ name: 'alone', check: alone.check }] }
}

/**
 * Redis where REDIS_URL names one. Otherwise memory, and then a gateway must be the only one on its database: it
 * refuses to be one of several. `mayBeSeveral` is for what keeps nothing here (the domains as a service).
 */
export const openShared = async (
  settings: Configuration,
  mayBeSeveral: boolean,
  clock: Clock,
  logger: Logger,
  stack: AsyncDisposableStack,
): Promise<Shared> => {
  const { redisUrl } = settings
  if (!redisUrl) return openAlone(settings, mayBeSeveral, clock, logger, stack)
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
