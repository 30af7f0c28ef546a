import { Socket } from 'node:net'
import helmet from 'helmet'
import { IncomingMessage, ServerResponse } from '../../platform/runtime/index.ts'

/**
 * All responses have the same headers, so helmet runs once. Responses are JSON, so the content security policy allows
 * nothing.
 */
export function buildSecurityHeaders(): Record<string, string> {
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
