import { Refusal } from '../kernel/index.ts'

/**
 * Whatever was thrown, as a refusal: a dependency that is not to be had is 503, all else that nobody foresaw is 500.
 * `isUnavailable` knows the stores' own errors.
 */
export const refusalOf =
  (isUnavailable: (error: unknown) => boolean) =>
  (error: unknown): Refusal => {
    if (error instanceof Refusal) return error
    if (isUnavailable(error)) return new Refusal('SYSTEM.UNAVAILABLE', { retryAfter: 1, cause: error })
    return new Refusal('SYSTEM.INTERNAL_ERROR', { internal: 'unforeseen', cause: error })
  }
