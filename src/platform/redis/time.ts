import { whenLate } from '../system/index.ts'

/** The answer, or a rejection where it is not there after so many milliseconds. */
export const inTime = (answer: Promise<unknown>, milliseconds: number): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const late = (): void => reject(new Error(`no answer within ${milliseconds} ms`))
    const timer = whenLate(late, milliseconds)
    answer.then(resolve, reject).finally(() => clearTimeout(timer))
  })
