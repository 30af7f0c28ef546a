import { hash } from 'node:crypto'
import type { Cluster, Command, Redis } from 'ioredis'
import { isUnreachable } from '../../database/index.ts'
import { DependencyFailure } from '../../kernel/index.ts'
import { setDeadline, withTimeout } from '../runtime/index.ts'
import type { RedisTarget } from './client.ts'

/** Unreachable, too slow, out of memory, or failing over. */
export class RedisUnavailable extends DependencyFailure {
  constructor(cause: unknown) {
    super(cause instanceof Error ? `Redis: ${cause.message}` : 'Redis', { cause })
    this.name = 'RedisUnavailable'
  }
}

const quotedArguments = /, with args beginning with:.*/

/** The request then fails with 503. */
export function isRedisUnavailable(error: unknown): boolean {
  return error instanceof RedisUnavailable
}

/** Redis is loading its data, has too many clients, or has no master yet. */
const awayReplies = /^(LOADING|MASTERDOWN|CLUSTERDOWN|ERR max number of clients)|Failed to refresh slots cache/

/** Whether a later attempt to connect can succeed without a change of the configuration. */
export function isRedisAway(error: unknown): boolean {
  if (!isError(error)) return false
  return isUnreachable(error) || awayReplies.test(error.message) || isRedisAway(error.cause)
}

export interface Script {
  text: string
  sha: string
}

export function scriptOf(text: string): Script {
  return { text, sha: hash('sha1', text) }
}

type CommandParts = [command: string, ...values: (string | number)[]]

/** Every failure and timeout rejects with `RedisUnavailable`. */
export interface RedisConnection {
  command(...parts: CommandParts): Promise<unknown>
  /** Atomic. All keys must share one hash tag. */
  script(script: Script, keys: readonly string[], values: readonly (string | number)[]): Promise<unknown>
  /** Rejects if Redis does not respond, is full, or is a replica. */
  check(): Promise<void>
  /** In bytes, of the fullest master of a cluster. `max` is 0 without a limit. */
  memory(): Promise<{ used: number; max: number }>
  /** Remains subscribed after reconnecting, but misses messages in between. */
  subscribe(channel: string, listener: (text: string) => void): void
  close(): Promise<void>
}

/** Every request needs scripts that write. The key expires after a second. */
const readyScript = scriptOf("return redis.call('SET', KEYS[1], 1, 'PX', 1000)")

/** A subscriber receives nothing for hours. Without a heartbeat, it would not notice a dead connection. */
const heartbeatMs = 15_000
/** A busy Redis is silent, too. */
const minCheckIntervalMs = 4_000

const pubSub = 'redis pub/sub'

/** Opens two connections, because a subscribed one cannot run other commands. */
export async function openRedis(target: RedisTarget): Promise<RedisConnection> {
  const { commandOf, connectOnce, createClient, joinWrites, replaceSilentConnections } = await import('./client.ts')
  const client = createClient(target)
  const subscriber = createClient(target)
  const listeners = new Map<string, (text: string) => void>()
  const deadlines = new CommandDeadlines(target.commandTimeoutMs, (sentAt) => {
    replaceSilentConnections(client, sentAt)
    checkSubscriber()
  })
  const send: Send = async (name, values) => {
    const command = commandOf(name, values)
    deadlines.start(command)
    if ('stream' in client) joinWrites(client)
    try {
      if (!target.trace) return await client.sendCommand(command)
      const run = async (): Promise<unknown> => client.sendCommand(command)
      return await target.trace(name, name === 'EVALSHA' ? String(values[0]) : undefined, run)
    } finally {
      deadlines.end(command)
    }
  }
  // The errors of `connect` and of commands state only that the connection is closed.
  let lastError: Error | undefined
  let isOpen = false
  const succeed = <T>(reply: T): T => {
    lastError = undefined
    target.onReady('redis')
    return reply
  }
  const failureOf = (error: unknown): RedisUnavailable => {
    const reason = isReply(error) ? withoutArguments(error) : (lastError ?? toError(error))
    target.onError(reason, 'redis')
    return new RedisUnavailable(reason)
  }
  const command: RedisConnection['command'] = async (name, ...values) => {
    try {
      return succeed(await send(name, values))
    } catch (error) {
      throw failureOf(error)
    }
  }
  const script: RedisConnection['script'] = async (text, keys, values) => {
    try {
      return succeed(await runScript(send, text, keys, values))
    } catch (error) {
      throw failureOf(error)
    }
  }
  client.on('error', (error) => {
    // A cluster reports only that no node responded as expected.
    lastError = withoutArguments('lastNodeError' in error && isError(error.lastNodeError) ? error.lastNodeError : error)
    target.onError(lastError, 'redis')
  })
  const onSubscriberError = (error: Error): void => target.onError(withoutArguments(error), pubSub)
  client.on('ready', async () => {
    if (isOpen) lastError = undefined
    target.onReady('redis')
    const policy = await readEvictionPolicy(send)
    if (policy) target.onEvicting(policy)
  })
  subscriber.on('error', onSubscriberError)
  subscriber.on('message', (channel: string, text: string) => listeners.get(channel)?.(text))
  const subscribeAll = () => {
    const channels = [...listeners.keys()]
    if (subscriber.status !== 'ready' || channels.length === 0) return
    subscriber.subscribe(...channels).then(() => target.onReady(pubSub), onSubscriberError)
  }
  subscriber.on('ready', subscribeAll)
  let checkedAt = Number.NEGATIVE_INFINITY
  // Subscribing again changes nothing, and needs no permission that Portico does not have.
  const checkSubscriber = () => {
    const channels = [...listeners.keys()]
    const now = performance.now()
    if (subscriber.status !== 'ready' || channels.length === 0 || now - checkedAt < minCheckIntervalMs) return
    checkedAt = now
    const reply = subscriber.subscribe(...channels)
    withTimeout(reply, target.commandTimeoutMs, () => subscriber.disconnect(true)).then(
      () => target.onReady(pubSub),
      onSubscriberError,
    )
  }
  const heartbeat = setInterval(checkSubscriber, heartbeatMs).unref()

  const close = async (): Promise<void> => {
    clearInterval(heartbeat)
    client.disconnect()
    subscriber.disconnect()
  }
  try {
    await Promise.all([connectOnce(client), connectOnce(subscriber)])
    // For example, the database number does not exist. Otherwise, database 0 would be used.
    if (lastError) throw lastError
    isOpen = true
  } catch (cause) {
    await close()
    const { username, host } = new URL(target.url)
    const user = username === '' ? '' : `${decodeURIComponent(username)}@`
    throw new Error(`cannot connect to Redis at ${user}${host} (REDIS_URL)`, { cause: lastError ?? cause })
  }
  return {
    command,
    script,
    memory: () =>
      readMemory(client, target.commandTimeoutMs).catch((error: unknown) => {
        throw new RedisUnavailable(error)
      }),
    check: async () => void (await script(readyScript, ['portico:ready'], [])),
    subscribe: (channel, listener) => {
      listeners.set(channel, listener)
      subscribeAll()
    },
    close,
  }
}

function isError(error: unknown): error is Error {
  return error instanceof Error
}

/** The name of this class of ioredis is its only mark. */
function isReply(error: unknown): error is Error {
  return isError(error) && error.name === 'ReplyError'
}

function toError(error: unknown): Error {
  return isError(error) ? error : new Error(String(error))
}

/** Redis quotes arguments in the error of an unknown command. They may include a password. */
function withoutArguments(error: Error): Error {
  error.message = error.message.replace(quotedArguments, '')
  if (error.stack) error.stack = error.stack.replace(quotedArguments, '')
  return error
}

/** The list of values is not used again. */
type Send = (name: string, values: (string | number)[]) => Promise<unknown>

/** All commands have the same time limit, so they expire in order, and one timer serves all of them. */
class CommandDeadlines {
  readonly #timeoutMs: number
  readonly #onExpired: (sentAt: number) => void
  /** When each command without a reply was sent, the oldest first. */
  readonly #pending = new Map<Command, number>()
  #isWaiting = false

  constructor(timeoutMs: number, onExpired: (sentAt: number) => void) {
    this.#timeoutMs = timeoutMs
    this.#onExpired = onExpired
  }

  start(command: Command): void {
    this.#pending.set(command, performance.now())
    if (!this.#isWaiting) this.#wait(this.#timeoutMs)
  }

  end(command: Command): void {
    this.#pending.delete(command)
  }

  #wait(ms: number): void {
    this.#isWaiting = true
    setDeadline(() => this.#expire(), ms).unref()
  }

  #expire(): void {
    this.#isWaiting = false
    for (const [command, sentAt] of this.#pending) {
      const leftMs = sentAt + this.#timeoutMs - performance.now()
      if (leftMs > 0) {
        this.#wait(Math.ceil(leftMs))
        return
      }
      this.#pending.delete(command)
      command.reject(new Error(`no answer within ${this.#timeoutMs} ms`))
      this.#onExpired(sentAt)
    }
  }
}

/**
 * Sends the text only if Redis does not know the SHA-1: the first time on each node, and after a restart, a failover or
 * SCRIPT FLUSH. Nothing is loaded in advance, so no load can fail.
 */
async function runScript(
  send: Send,
  { text, sha }: Script,
  keys: readonly string[],
  values: readonly (string | number)[],
): Promise<unknown> {
  try {
    return await send('EVALSHA', [sha, keys.length, ...keys, ...values])
  } catch (error) {
    if (!isUnknown(error)) throw error
    return send('EVAL', [text, keys.length, ...keys, ...values])
  }
}

function isUnknown(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT')
}

/** Null if Redis rejects writes when it is full, has no memory limit, or does not report its policy. */
async function readEvictionPolicy(send: Send): Promise<string | null> {
  const info = await send('INFO', ['memory']).catch(() => null)
  if (typeof info !== 'string') return null
  const policy = infoField(info, 'maxmemory_policy') ?? 'noeviction'
  return policy === 'noeviction' || infoField(info, 'maxmemory') === '0' ? null : policy
}

function infoField(info: string, name: string) {
  return new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(info)?.[1]
}

async function readMemory(client: Redis | Cluster, timeoutMs: number): Promise<{ used: number; max: number }> {
  const masters = 'nodes' in client ? client.nodes('master') : [client]
  const replies = await Promise.all(masters.map((node) => withTimeout(node.info('memory'), timeoutMs)))
  const all = replies.map(String).map((info) => ({
    used: Number(infoField(info, 'used_memory') ?? 0),
    max: Number(infoField(info, 'maxmemory') ?? 0),
  }))
  const shareOf = ({ used, max }: { used: number; max: number }): number => (max === 0 ? 0 : used / max)
  return all.toSorted((one, other) => shareOf(other) - shareOf(one))[0] ?? { used: 0, max: 0 }
}
