import { withTimeout } from '../runtime/index.ts'
import type { RedisTarget } from './client.ts'
import { RedisUnavailable, withoutArguments } from './errors.ts'
import { runScript, type Script, scriptOf } from './script.ts'

type Parts = [command: string, ...values: (string | number)[]]

/** Redis as the rest of the platform sees it. Whatever fails, and whatever takes too long, is a RedisUnavailable. */
export interface RedisConnection {
  command(...parts: Parts): Promise<unknown>
  /** Runs atomically; all its keys share one hash tag. */
  script(script: Script, keys: readonly string[], values: readonly (string | number)[]): Promise<unknown>
  /** Rejects where Redis does not answer, or takes nothing: one that is full, or a replica, or lets us run no script. */
  check(): Promise<void>
  /** From now on, over every reconnection; messages that are sent while there is no connection are lost. */
  subscribe(channel: string, listener: (text: string) => void): void
  close(): Promise<void>
}

/** What every request needs: a script that writes. What it writes is of no use to anybody, and gone within a second. */
const readyScript = scriptOf("return redis.call('SET', KEYS[1], 1, 'PX', 1000)")

const unavailable = (cause: unknown): never => {
  throw new RedisUnavailable(withoutArguments(cause))
}

/** Two connections: a subscriber may do nothing else. Rejects where Redis does not answer now. */
export const openRedis = async (target: RedisTarget): Promise<RedisConnection> => {
  const { connectOnce, createClient } = await import('./client.ts')
  const client = createClient(target)
  const subscriber = createClient(target)
  const listeners = new Map<string, (text: string) => void>()
  const ask = (...[name, ...values]: Parts): Promise<unknown> =>
    withTimeout(client.call(name, ...values), target.commandTimeoutMs)
  const command = (...parts: Parts): Promise<unknown> => ask(...parts).catch(unavailable)
  const script: RedisConnection['script'] = (text, keys, values) =>
    runScript(ask, text, keys, values).catch(unavailable)

  // Whoever waits for a connection is told only that it is closed, not why.
  let broken: Error | undefined
  const onError = (error: Error): void => {
    broken = withoutArguments(error)
    target.onError(broken)
  }
  client.on('error', onError)
  client.on('ready', async () => {
    target.onReady()
    const policy = await evictionPolicy(ask)
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
    // Such as a database that is not there, in whose place the server would serve its first one.
    if (broken) throw broken
  } catch (cause) {
    await close()
    throw new Error('Redis does not answer at REDIS_URL', { cause: broken ?? cause })
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

/** The policy by which a Redis with a bound to its memory throws away what it holds; null where it refuses instead, or does not tell. */
export const evictionPolicy = async (
  ask: (...parts: [string, ...string[]]) => Promise<unknown>,
): Promise<string | null> => {
  const told = await ask('INFO', 'memory').catch(() => null)
  if (typeof told !== 'string') return null
  const field = (name: string): string | undefined => new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(told)?.[1]
  const policy = field('maxmemory_policy') ?? 'noeviction'
  return policy === 'noeviction' || field('maxmemory') === '0' ? null : policy
}
