import { hash } from 'node:crypto'
import { withTimeout } from '../runtime/index.ts'
import type { RedisTarget } from './client.ts'

/** A failure of Redis: unreachable, too slow, out of memory, or failing over. */
export class RedisUnavailable extends Error {
  constructor(cause: unknown) {
    super(cause instanceof Error ? `Redis: ${cause.message}` : 'Redis', { cause })
    this.name = 'RedisUnavailable'
  }
}

const quotedArguments = /, with args beginning with:.*/

/** Removes the arguments that Redis quotes in the error of an unknown command. They may include a password. */
const withoutArguments = <E>(error: E): E => {
  if (error instanceof Error) {
    error.message = error.message.replace(quotedArguments, '')
    if (error.stack) error.stack = error.stack.replace(quotedArguments, '')
  }
  return error
}

/** Whether an error means that Redis is unavailable. The request then fails with 503. */
export const isRedisUnavailable = (error: unknown): boolean => error instanceof RedisUnavailable

/** A Lua script and its SHA-1. */
export interface Script {
  text: string
  sha: string
}

/** Creates a script from its Lua source. */
export const scriptOf = (text: string): Script => ({ text, sha: hash('sha1', text) })

type Send = (...parts: [string, ...(string | number)[]]) => Promise<unknown>

const isUnknown = (error: unknown): boolean => error instanceof Error && error.message.startsWith('NOSCRIPT')

/**
 * Runs a script by its SHA-1, and sends its text only if Redis does not know it: the first time on each node, and after a
 * restart, a failover or SCRIPT FLUSH. Nothing is loaded in advance, so no load can fail.
 */
const runScript = async (
  send: Send,
  { text, sha }: Script,
  keys: readonly string[],
  values: readonly (string | number)[],
): Promise<unknown> => {
  const rest = [keys.length, ...keys, ...values]
  try {
    return await send('EVALSHA', sha, ...rest)
  } catch (error) {
    if (!isUnknown(error)) throw error
    return send('EVAL', text, ...rest)
  }
}

type CommandParts = [command: string, ...values: (string | number)[]]

/** A connection to Redis. Every failure and timeout rejects with `RedisUnavailable`. */
export interface RedisConnection {
  command(...parts: CommandParts): Promise<unknown>
  /** Runs a Lua script, atomically. All its keys must share one hash tag. */
  script(script: Script, keys: readonly string[], values: readonly (string | number)[]): Promise<unknown>
  /** Rejects if Redis does not respond, or if it cannot run a script that writes, because it is full or a replica. */
  check(): Promise<void>
  /** Stays subscribed over reconnections. Messages sent while disconnected are lost. */
  subscribe(channel: string, listener: (text: string) => void): void
  close(): Promise<void>
}

/** Tests whether Redis runs scripts that write, as every request needs. The key expires after a second. */
const readyScript = scriptOf("return redis.call('SET', KEYS[1], 1, 'PX', 1000)")

const unavailable = (cause: unknown): never => {
  throw new RedisUnavailable(withoutArguments(cause))
}

/** Opens two connections, because a subscribed one can run no other commands. Rejects if Redis is unavailable. */
export const openRedis = async (target: RedisTarget): Promise<RedisConnection> => {
  const { connectOnce, createClient } = await import('./client.ts')
  const client = createClient(target)
  const subscriber = createClient(target)
  const listeners = new Map<string, (text: string) => void>()
  const send = (...[name, ...values]: CommandParts): Promise<unknown> =>
    withTimeout(client.call(name, ...values), target.commandTimeoutMs)
  const command = (...parts: CommandParts): Promise<unknown> => send(...parts).catch(unavailable)
  const script: RedisConnection['script'] = (text, keys, values) =>
    runScript(send, text, keys, values).catch(unavailable)

  // The reason of a failed `connect`, which itself only reports that the connection is closed.
  let lastError: Error | undefined
  const onError = (error: Error): void => {
    lastError = withoutArguments(error)
    target.onError(lastError)
  }
  client.on('error', onError)
  client.on('ready', async () => {
    target.onReady()
    const policy = await readEvictionPolicy(send)
    if (policy) target.onEvicting(policy)
  })
  subscriber.on('error', onError)
  subscriber.on('message', (channel: string, text: string) => listeners.get(channel)?.(text))
  const subscribeAll = () => {
    const channels = [...listeners.keys()]
    if (subscriber.status === 'ready' && channels.length > 0) subscriber.subscribe(...channels).catch(onError)
  }
  subscriber.on('ready', subscribeAll)

  const close = async (): Promise<void> => {
    client.disconnect()
    subscriber.disconnect()
  }
  try {
    await Promise.all([connectOnce(client), connectOnce(subscriber)])
    // This happens, for example, if the database number does not exist. Continuing would use database 0.
    if (lastError) throw lastError
  } catch (cause) {
    await close()
    throw new Error('cannot connect to Redis (REDIS_URL)', { cause: lastError ?? cause })
  }
  return {
    command,
    script,
    check: async () => void (await script(readyScript, ['portico:ready'], [])),
    subscribe: (channel, listener) => {
      listeners.set(channel, listener)
      subscribeAll()
    },
    close,
  }
}

/**
 * Returns the eviction policy of a Redis with a memory limit. Returns null if Redis rejects writes when it is full, or
 * if the policy is unknown.
 */
const readEvictionPolicy = async (
  send: (...parts: [string, ...string[]]) => Promise<unknown>,
): Promise<string | null> => {
  const info = await send('INFO', 'memory').catch(() => null)
  if (typeof info !== 'string') return null
  const field = (name: string): string | undefined => new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(info)?.[1]
  const policy = field('maxmemory_policy') ?? 'noeviction'
  return policy === 'noeviction' || field('maxmemory') === '0' ? null : policy
}
