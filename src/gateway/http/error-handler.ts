import type { ErrorRequestHandler } from 'express'
import type { Logger } from 'pino'
import { type FindChain, fallbackLocale, Refusal } from '../../kernel/index.ts'
import { closeIfBodyUnread } from './connection.ts'
import type { ResponseWriter } from './response-writer.ts'

/** 503 for an unavailable store, 500 for an unexpected error. */
export function toRefusal(error: unknown, isUnavailable: (error: unknown) => boolean): Refusal {
  if (error instanceof Refusal) return error
  if (isUnavailable(error)) return new Refusal('SYSTEM.UNAVAILABLE', { retryAfter: 1, cause: error })
  return new Refusal('SYSTEM.INTERNAL_ERROR', { internal: 'unexpected error', cause: error })
}

/** The response contains no detail of the error. */
export function createErrorHandler(
  responses: ResponseWriter,
  logger: Logger,
  findChain: FindChain,
): ErrorRequestHandler {
  return (error, request, response, _next) => {
    logger.error({ err: error }, 'error outside the pipeline')
    if (response.headersSent) {
      response.destroy()
      return
    }
    closeIfBodyUnread(request, response)
    const refusal = new Refusal('SYSTEM.INTERNAL_ERROR', { cause: error })
    const context = {
      chainId: findChain(request.path).chainId,
      locale: fallbackLocale,
      limit: null,
      idempotencyKey: null,
    }
    responses.write(response, '', responses.renderRefusal(refusal, context))
  }
}
