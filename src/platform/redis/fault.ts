/** Redis did not do what it was asked, whatever the reason: not there, too slow, out of memory, failing over. */
export class RedisUnavailable extends Error {
  constructor(cause: unknown) {
    super(cause instanceof Error ? `Redis: ${cause.message}` : 'Redis', { cause })
    this.name = 'RedisUnavailable'
  }
}

/** Whether a failure means that Redis is not to be had: the request is then answered 503 and never passes. */
export const redisFault = (error: unknown): boolean => error instanceof RedisUnavailable
