/**
 * Calls `onExpired` after a number of milliseconds. If this process was busy or suspended, a response may lie unread in
 * the socket: it is read before the deadline counts as missed. So `onExpired` may run just after the response.
 */
export const setDeadline = (onExpired: () => void, milliseconds: number): NodeJS.Timeout =>
  setTimeout(() => setImmediate(onExpired), milliseconds)

/** Resolves like `response`, or rejects if it takes longer than a number of milliseconds. */
export const withTimeout = (response: Promise<unknown>, milliseconds: number): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const expire = (): void => reject(new Error(`no answer within ${milliseconds} ms`))
    const timer = setDeadline(expire, milliseconds)
    response.then(resolve, reject).finally(() => clearTimeout(timer))
  })
