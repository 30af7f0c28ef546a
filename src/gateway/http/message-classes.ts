import type { Express } from 'express'
import { IncomingMessage, ServerResponse } from '../../platform/runtime/index.ts'

/**
 * Returns the request and response classes that a server must use for this app. Express changes the prototype of each
 * message, which makes V8 run all code that touches it slowly (10 µs per request). On these classes the prototype is
 * already the one Express sets.
 */
export function createMessageClasses(app: Express) {
  class AppRequest extends IncomingMessage {}
  class AppResponse<Request extends IncomingMessage = AppRequest> extends ServerResponse<Request> {}
  Object.setPrototypeOf(AppRequest.prototype, app.request)
  Object.setPrototypeOf(AppResponse.prototype, app.response)
  Object.assign(app, { request: AppRequest.prototype, response: AppResponse.prototype })
  return { IncomingMessage: AppRequest, ServerResponse: AppResponse }
}
