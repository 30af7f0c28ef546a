/** Redis did not do what it was asked, whatever the reason: not there, too slow, out of memory, failing over. */
export class RedisUnavailable extends Error {
  constructor(cause: unknown) {
    super(cause instanceof Error ? `Redis: ${cause.message}` : 'Redis', { cause })
    this.name = 'RedisUnavailable'
  }
}

const repeated = /, with args beginning with:.*/

/** The error without what Redis repeats of a command that it does not know: a password, where that is AUTH, or a value. */
export const withoutArguments = <E>(error: E): E => {
  if (error instanceof Error) {
    error.message = error.message.replace(repeated, '')
    if (error.stack) error.stack = error.stack.replace(repeated, '')
  }
  return error
}

/** Whether a failure means that Redis is not to be had: the request is then answered 503 and never passes. */
export const isRedisUnavailable = (error: unknown): boolean => error instanceof RedisUnavailable
