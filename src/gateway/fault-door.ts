import type { ErrorRequestHandler } from 'express'
import type { Logger } from 'pino'
import { fallbackLocale, findChain, Refusal } from '../kernel/index.ts'
import type { Answers } from './answer.ts'
import { answerOverRest } from './rest-of-body.ts'

/** The last door, for what went wrong outside the stages: the same envelope, nothing of the error. */
export const faultDoor =
  (answers: Answers, logger: Logger): ErrorRequestHandler =>
  (error, request, response, _next) => {
    logger.error({ err: error }, 'a fault outside the stages')
    if (response.headersSent) response.destroy()
    else {
      answerOverRest(request, response)
      const refusal = new Refusal('SYSTEM.INTERNAL_ERROR', { cause: error })
      answers.write(
        response,
        '',
        answers.refusal(refusal, { chainId: findChain(request.path), locale: fallbackLocale, limit: null }),
      )
    }
  }
