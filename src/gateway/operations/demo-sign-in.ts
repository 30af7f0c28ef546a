import type { Request, Response } from 'express'
import type { Portal } from '../../kernel/index.ts'
import { buildSecurityHeaders } from '../http/security-headers.ts'
import { createHostCheck } from './allowed-hosts.ts'

/** The sign-in of the reference page in the development profile. */
export interface DemoSignIn {
  accounts: readonly { portal: Portal; email: string }[]
  password: string
  /** Returns the codes that were mailed to the accounts, newest first. */
  mailedCodes(): Promise<readonly { to: string; code: string; at: string }[]>
  /** Names that clients can use in `Host`. */
  allowedHosts: readonly string[]
}

export const demoCodesPath = '/docs/demo-codes.json'

/** Serves the mailed codes. Browsers do not cache them, and other origins cannot read them. */
export function createDemoCodes({ mailedCodes, allowedHosts }: DemoSignIn) {
  const isAllowedHost = createHostCheck(allowedHosts)
  const headers = { ...buildSecurityHeaders(), 'content-type': 'application/json; charset=utf-8' }
  return async (request: Request, response: Response): Promise<void> => {
    const isAllowed = isAllowedHost(request.headers.host)
    const bytes = Buffer.from(JSON.stringify(isAllowed ? await mailedCodes() : { status: 'failed' }))
    response.writeHead(isAllowed ? 200 : 421, { ...headers, 'content-length': bytes.length }).end(bytes)
  }
}
