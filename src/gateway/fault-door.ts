import type { ErrorRequestHandler } from 'express'
import { Refusal } from '../kernel/index.ts'
import type { Answers } from './answer.ts'

/** The last door, for what went wrong outside the stages: the same envelope, nothing of the error. */
export const faultDoor =
  (answers: Answers): ErrorRequestHandler =>
  (error, _request, response, _next) => {
    const refusal = new Refusal('SYSTEM.INTERNAL_ERROR', { internal: 'outside the stages', cause: error })
    response.locals.refusal = refusal
    if (response.headersSent) response.destroy()
    else answers.write(response, '', answers.refusal(refusal, null))
  }
