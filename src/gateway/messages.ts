import type { Express } from 'express'
import { IncomingMessage, ServerResponse } from '../platform/runtime/index.ts'

/**
 * The classes that a server has to make its messages of so that they are the app's from the start. Express makes them its
 * own by changing the prototype of each one, and V8 runs whatever touches such an object slowly from then on: 10 µs a
 * request, more than the rest of Express. On these there is nothing left to change.
 */
export const messagesOf = (app: Express) => {
  class AppRequest extends IncomingMessage {}
  class AppResponse<Request extends IncomingMessage = AppRequest> extends ServerResponse<Request> {}
  Object.setPrototypeOf(AppRequest.prototype, app.request)
  Object.setPrototypeOf(AppResponse.prototype, app.response)
  Object.assign(app, { request: AppRequest.prototype, response: AppResponse.prototype })
  return { IncomingMessage: AppRequest, ServerResponse: AppResponse }
}
