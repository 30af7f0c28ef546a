import { Socket } from 'node:net'
import helmet from 'helmet'
import { IncomingMessage, ServerResponse } from '../../platform/runtime/index.ts'

/**
 * Returns helmet's headers and `cache-control: no-store`. They are the same for every response, so helmet runs once at
 * the start. Responses are JSON, so the content security policy allows nothing.
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
