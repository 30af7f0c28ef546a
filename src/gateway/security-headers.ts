import { Socket } from 'node:net'
import helmet from 'helmet'
import { IncomingMessage, ServerResponse } from '../platform/runtime/index.ts'

/**
 * helmet's header values, taken once at start: they are the same for every answer, so running the middleware for
 * each request would buy nothing. An interface of JSON needs the strictest content policy there is.
 */
export const securityHeaders = (): Record<string, string> => {
  const response = new ServerResponse(new IncomingMessage(new Socket()))
  const apply = helmet({
    contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
  })
  apply(response.req, response, (error?: unknown) => {
    if (error) throw error
  })
  const headers: Record<string, string> = { 'cache-control': 'no-store' }
  for (const [name, value] of Object.entries(response.getHeaders())) headers[name] = String(value)
  return headers
}
