import { setDeadline } from './index.ts'

/** The answer, or a rejection where it is not there after so many milliseconds. */
export const withTimeout = (answer: Promise<unknown>, milliseconds: number): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const late = (): void => reject(new Error(`no answer within ${milliseconds} ms`))
    const timer = setDeadline(late, milliseconds)
    answer.then(resolve, reject).finally(() => clearTimeout(timer))
  })

/**
 * Calls `late` after so many milliseconds. What came while this process did something else, or nothing, lies in the socket
 * unread: it is looked for once more before it counts as too late, so `late` may be called of what has just come.
 */
export const setDeadline = (late: () => void, milliseconds: number): NodeJS.Timeout =>
  setTimeout(() => setImmediate(late), milliseconds)
