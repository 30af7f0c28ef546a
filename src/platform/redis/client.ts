import { Cluster, Redis, type RedisOptions } from 'ioredis'
import { maxTimerMs } from '../../kernel/index.ts'

/** Where and how to connect to Redis. Times are in milliseconds. */
export interface RedisTarget {
  url: string
  /** Whether the URL names a node of a Redis Cluster. */
  cluster: boolean
  /** 0 means no limit. */
  connectTimeoutMs: number
  /** Maximum time for a command. The request then fails. */
  commandTimeoutMs: number
  /** Called when a connection breaks. The client then reconnects, without a limit on attempts. */
  onError(error: Error): void
  /** Called when the connection is ready, at first and after each break. */
  onReady(): void
  /** Called with `onReady` if Redis evicts keys when it is full, with its policy. */
  onEvicting(policy: string): void
}

/** Reconnect if a command gets no data within this time. */
const maxSilenceMs = 4_000
const maxRetryMs = 250

/** Maximum number of redirections and retries of a command that a cluster has not executed. */
const maxRedirections = 5

/**
 * Matches the errors of a replica, of a master without enough replicas, and of a replica without its master. Redis 6.2
 * wraps them in another message when a script fails.
 */
const refusesToWrite = /^(ERR Error running script.* -)?(READONLY|NOREPLICAS|MASTERDOWN) /

const retryDelay = (times: number): number => Math.min(times * 50, maxRetryMs)

/**
 * Nothing is queued: a command is sent over an open connection or fails. A command whose connection breaks fails and is
 * not sent again, because a counter would count twice.
 */
const connectionOptions = ({ connectTimeoutMs }: RedisTarget) =>
  ({
    autoResendUnfulfilledCommands: false,
    // Subscribe again ourselves, because a failed resubscription by ioredis is an unhandled rejection.
    autoResubscribe: false,
    maxRetriesPerRequest: 0,
    connectTimeout: connectTimeoutMs,
    socketTimeout: maxSilenceMs,
    // After a failover the old master rejects writes. Reconnect to the new one.
    reconnectOnError: (error: Error) => refusesToWrite.test(error.message),
  }) satisfies RedisOptions

/** Creates a client of a server or a cluster, not connected yet. */
export const createClient = (target: RedisTarget): Redis | Cluster => {
  const options = connectionOptions(target)
  const failFast = { lazyConnect: true, enableOfflineQueue: false } as const
  if (!target.cluster) return new Redis(target.url, { ...options, ...failFast, retryStrategy: retryDelay })
  const { hostname, port, username, password, protocol } = new URL(target.url)
  return new Cluster([{ host: hostname, port: Number(port || 6379) }], {
    ...failFast,
    // Unlike elsewhere in ioredis, 0 would mean no time at all here.
    slotsRefreshTimeout: target.connectTimeoutMs || maxTimerMs,
    clusterRetryStrategy: retryDelay,
    // Without this, ioredis drops a node whose connection breaks and sends its pending commands again to another node.
    clusterNodeRetryStrategy: retryDelay,
    maxRedirections,
    // Keep host names: ioredis would resolve them and check the certificate against the address.
    ...(protocol === 'rediss:' && { dnsLookup: (name, callback) => callback(null, name) }),
    redisOptions: {
      ...options,
      ...(username && { username: decodeURIComponent(username) }),
      ...(password && { password: decodeURIComponent(password) }),
      ...(protocol === 'rediss:' && { tls: {} }),
    },
  })
}

/** Connects, or rejects if the first attempt fails. ioredis alone would silently retry forever if a cluster is not ready. */
export const connectOnce = (client: Redis | Cluster): Promise<void> =>
  new Promise((resolve, reject) => {
    client.connect().then(resolve, reject)
    const message = 'the connection closed before it was ready; for a cluster, check `CLUSTER INFO`'
    client.once('close', () => reject(new Error(message)))
  })
