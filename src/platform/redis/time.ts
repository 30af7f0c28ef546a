/**
 * The answer, or a rejection where it is not there after so many milliseconds. An answer that came while this process did
 * something else, or nothing, lies in the socket unread: it is looked for once more before it counts as too late.
 */
export const inTime = (answer: Promise<unknown>, milliseconds: number): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const late = (): void => reject(new Error(`no answer within ${milliseconds} ms`))
    const timer = setTimeout(() => setImmediate(late), milliseconds)
    answer.then(resolve, reject).finally(() => clearTimeout(timer))
  })
