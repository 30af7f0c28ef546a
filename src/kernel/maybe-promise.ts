/**
 * A value that is there already, or a promise of it. Most of what a request needs is remembered, and a dozen awaits for
 * values that are there would cost as much as the work between them.
 */
export type MaybePromise<T> = T | Promise<T>

/** Goes on with a value at once where it is there, and otherwise when it comes. */
export const whenReady = <T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> =>
  value instanceof Promise ? value.then(next) : next(value)
