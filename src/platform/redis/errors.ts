/** A failure of Redis: unreachable, too slow, out of memory, or failing over. */
export class RedisUnavailable extends Error {
  constructor(cause: unknown) {
    super(cause instanceof Error ? `Redis: ${cause.message}` : 'Redis', { cause })
    this.name = 'RedisUnavailable'
  }
}

const quotedArguments = /, with args beginning with:.*/

/** Removes the arguments that Redis quotes in the error of an unknown command. They may be a password. */
export const withoutArguments = <E>(error: E): E => {
  if (error instanceof Error) {
    error.message = error.message.replace(quotedArguments, '')
    if (error.stack) error.stack = error.stack.replace(quotedArguments, '')
  }
  return error
}

/** Whether an error means that Redis is unavailable. The request then fails with 503. */
export const isRedisUnavailable = (error: unknown): boolean => error instanceof RedisUnavailable
