import { Cluster, Redis, type RedisOptions } from 'ioredis'
import { maxTimerMs } from '../../kernel/index.ts'

export interface RedisTarget {
  url: string
  /** Whether the URL names a node of a Redis Cluster. */
  cluster: boolean
  /** 0 sets no bound. */
  connectTimeoutMs: number
  /** A command that has no answer by then has failed; the caller's request is refused. */
  commandTimeoutMs: number
  /** Told of every connection that breaks; it is made anew without end. */
  onError(error: Error): void
  /** Told when commands go through, at first and after each break. */
  onReady(): void
  /** Told with `onReady` where Redis is one that forgets when it is full, by its policy. */
  onEvicting(policy: string): void
}

/** A connection that has asked and heard nothing for so long is given up and made anew. */
const silenceMs = 4_000
const longestRetryMs = 250

/** Of a command that was not done, by a cluster: to another node, or a tenth of a second later to one that is not there. */
const maxRedirections = 5

/**
 * A replica; a master that has lost its replicas; a replica that has lost its master. Of a script Redis 6.2 says the same at the
 * end of a sentence of its own.
 */
const refusesToWrite = /^(ERR Error running script.* -)?(READONLY|NOREPLICAS|MASTERDOWN) /

const retryDelay = (times: number): number => Math.min(times * 50, longestRetryMs)

/**
 * Nothing waits: a command is sent at once over a connection that is there, or fails; one that was under way when its
 * connection broke has failed and is not sent again (a count would count twice).
 */
const connectionOptions = ({ connectTimeoutMs }: RedisTarget) =>
  ({
    autoResendUnfulfilledCommands: false,
    // Whoever subscribes does it anew by himself; where that fails as ioredis does it, nobody hears, and the process ends.
    autoResubscribe: false,
    maxRetriesPerRequest: 0,
    connectTimeout: connectTimeoutMs,
    socketTimeout: silenceMs,
    // After a failover the old master refuses to write: the connection is made anew, to whoever is the master now.
    reconnectOnError: (error: Error) => refusesToWrite.test(error.message),
  }) satisfies RedisOptions

/** A client of one server, or of a cluster; not connected yet. */
export const createClient = (target: RedisTarget): Redis | Cluster => {
  const options = connectionOptions(target)
  const waitless = { lazyConnect: true, enableOfflineQueue: false } as const
  if (!target.cluster) return new Redis(target.url, { ...options, ...waitless, retryStrategy: retryDelay })
  const { hostname, port, username, password, protocol } = new URL(target.url)
  return new Cluster([{ host: hostname, port: Number(port || 6379) }], {
    ...waitless,
    // Elsewhere ioredis takes 0 for no bound; here it would wait for nothing at all.
    slotsRefreshTimeout: target.connectTimeoutMs || maxTimerMs,
    clusterRetryStrategy: retryDelay,
    // Without it a node's connection that breaks is over, and ioredis sends what was under way on it again, elsewhere.
    clusterNodeRetryStrategy: retryDelay,
    maxRedirections,
    // A certificate is for a node's name: by itself ioredis would ask the address behind the name, and have the certificate be for that.
    ...(protocol === 'rediss:' && { dnsLookup: (name, answer) => answer(null, name) }),
    redisOptions: {
      ...options,
      ...(username && { username: decodeURIComponent(username) }),
      ...(password && { password: decodeURIComponent(password) }),
      ...(protocol === 'rediss:' && { tls: {} }),
    },
  })
}

/** A cluster that answers and is not ready ioredis leaves and asks anew, without end and without a word: that is a failure here. */
export const connectOnce = (client: Redis | Cluster): Promise<void> =>
  new Promise((resolve, reject) => {
    client.connect().then(resolve, reject)
    const said = 'the connection ended before it was ready; of a cluster `CLUSTER INFO` tells whether it is'
    client.once('close', () => reject(new Error(said)))
  })
