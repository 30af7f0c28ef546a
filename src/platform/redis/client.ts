import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import {
  AbstractConnector,
  Cluster,
  Command,
  Redis,
  type RedisOptions,
  type StandaloneConnectionOptions,
} from 'ioredis'
import { maxTimerMs } from '../../kernel/index.ts'
import { lookup } from '../runtime/index.ts'

/** Runs a command, in a span if its caller is traced. `script` is the SHA-1 of a script. */
export type TraceCommand = <T>(command: string, script: string | undefined, run: () => Promise<T>) => Promise<T>

/** Each has its own connection. */
export type RedisPart = 'redis' | 'redis pub/sub'

/** Times are in milliseconds. */
export interface RedisTarget {
  url: string
  cluster: boolean
  /** 0 means no limit. */
  connectTimeoutMs: number
  commandTimeoutMs: number
  trace?: TraceCommand | undefined
  /** Called for each failed connection and command. The client reconnects, without a limit on attempts. */
  onError(error: Error, part: RedisPart): void
  /** Called for each connection and successful command. */
  onReady(part: RedisPart): void
  /** Called after each connection if Redis evicts keys when it is full. */
  onEvicting(policy: string): void
}

/**
 * Reconnect if Redis sends no data within this time after a command. After the first timeout of a command, a silent
 * connection is replaced earlier, but only once within this time: a busy Redis is silent, too.
 */
const maxSilenceMs = 4_000
const maxRetryMs = 250

/** Redirections and retries of a command that a cluster has not executed. */
const maxRedirections = 5

/**
 * Errors of writes to a replica, to a master without enough replicas, and to a replica without its master. Redis 6.2
 * wraps them when a script fails.
 */
const refusesToWrite = /^(ERR Error running script.* -)?(READONLY|NOREPLICAS|MASTERDOWN) /

/** When each connection opened or received data. */
const receivedAt = new WeakMap<Socket, number>()
const replacedAt = new WeakMap<Redis, number>()

/** ioredis passes no resolver to its sockets. */
class ResolvingConnector extends AbstractConnector {
  readonly #options: StandaloneConnectionOptions

  /** ioredis passes its own options, but does not declare their type. */
  constructor(options: unknown) {
    const known = options as StandaloneConnectionOptions & { disconnectTimeout: number }
    super(known.disconnectTimeout)
    this.#options = known
  }

  override async connect(): Promise<Socket> {
    const { host = 'localhost', port = 6379, family, path, tls } = this.#options
    const options = path == null ? { host, port, lookup, ...(family && { family }) } : { path }
    const stream = tls ? connectTls({ ...options, ...tls }) : connectTcp(options)
    this.connecting = true
    this.stream = stream
    const onData = () => void receivedAt.set(stream, performance.now())
    onData()
    stream.on('data', onData).once('error', (error) => {
      this.firstError = error
    })
    return stream
  }
}

/**
 * Replaces the connections that have received nothing since `sentAt`, although a command is pending. A firewall may have
 * forgotten them.
 */
export function replaceSilentConnections(client: Redis | Cluster, sentAt: number): void {
  const now = performance.now()
  for (const node of 'nodes' in client ? client.nodes('all') : [client]) {
    const isSilent = node.commandQueue.length > 0 && (receivedAt.get(node.stream) ?? now) < sentAt
    if (!isSilent || now - (replacedAt.get(node) ?? Number.NEGATIVE_INFINITY) < maxSilenceMs) continue
    replacedAt.set(node, now)
    node.stream.destroy(new Error('a command timed out on a silent connection'))
  }
}

export function createClient(target: RedisTarget): Redis | Cluster {
  const options = connectionOptions(target)
  const failFast = { lazyConnect: true, enableOfflineQueue: false } as const
  if (!target.cluster) return new Redis(target.url, { ...options, ...failFast, retryStrategy: retryDelay })
  const { hostname, port, username, password, protocol } = new URL(target.url)
  return new Cluster([{ host: hostname, port: Number(port || 6379) }], {
    ...failFast,
    // Here, unlike in other ioredis options, 0 would mean an immediate timeout.
    slotsRefreshTimeout: target.connectTimeoutMs || maxTimerMs,
    clusterRetryStrategy: retryDelay,
    // Otherwise, ioredis drops a node whose connection breaks and sends its pending commands again to another node.
    clusterNodeRetryStrategy: retryDelay,
    maxRedirections,
    // ioredis would check the certificate against the address. The connector resolves the name.
    dnsLookup: (name, callback) => callback(null, name),
    redisOptions: {
      ...options,
      ...(username && { username: decodeURIComponent(username) }),
      ...(password && { password: decodeURIComponent(password) }),
      ...(protocol === 'rediss:' && { tls: { lookup } }),
    },
  })
}

/** One system call sends the commands of one turn of the event loop, which can belong to many requests. */
export function joinWrites({ stream }: Pick<Redis, 'stream'>): void {
  if (!stream || stream.writableCorked > 0) return
  stream.cork()
  setImmediate(() => stream.uncork())
}

/** Unlike `call`, copies no arguments. */
export function commandOf(name: string, values: (string | number)[]): Command {
  return new Command(name, values, { replyEncoding: 'utf8' })
}

const closedEarly =
  'the connection closed before it was ready; for TLS, use rediss://, and for a cluster, check `CLUSTER INFO`'

/** Rejects if the first attempt fails. ioredis alone would silently retry forever if a cluster is not ready. */
export function connectOnce(client: Redis | Cluster): Promise<void> {
  return new Promise((resolve, reject) => {
    client.connect().then(resolve, reject)
    const error = Object.assign(new Error(closedEarly), { code: 'ECONNRESET' })
    client.once('close', () => reject(error))
  })
}

/**
 * A command is sent over an open connection or fails. After a break, it is not sent again, because a counter would
 * count twice.
 */
function connectionOptions({ connectTimeoutMs }: RedisTarget) {
  return {
    autoResendUnfulfilledCommands: false,
    // A failed resubscription by ioredis is an unhandled rejection.
    autoResubscribe: false,
    maxRetriesPerRequest: 0,
    connectTimeout: connectTimeoutMs,
    Connector: ResolvingConnector,
    socketTimeout: maxSilenceMs,
    // After a failover, the old master rejects writes.
    reconnectOnError: (error: Error) => refusesToWrite.test(error.message),
  } satisfies RedisOptions
}

function retryDelay(times: number): number {
  return Math.min(times * 50, maxRetryMs)
}
