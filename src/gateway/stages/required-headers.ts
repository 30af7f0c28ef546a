import type { PortalConfiguration } from '../../config/index.ts'
import { invalid, type Portal } from '../../kernel/index.ts'
import { parseAddress } from '../address.ts'
import type { Call, Stage } from '../call.ts'

type Rule = [name: string, accepts: (value: string) => boolean]

const matches = (pattern: RegExp) => (value: string) => pattern.test(value)

/** Visible ASCII: it is echoed and logged. */
export const requestIdPattern = /^[\x21-\x7e]{1,128}$/

const always: Rule[] = [
  ['x-request-id', matches(requestIdPattern)],
  ['x-locale', matches(/^[\x20-\x7e]{1,64}$/)],
]
/** What only an edge can say; without a trusted one these count as absent. */
const cloudflare: Rule[] = [
  ['cf-connecting-ip', (value) => parseAddress(value) !== null],
  ['cf-ray', matches(/^[\x21-\x7e]{1,64}$/)],
  ['cf-ipcountry', matches(/^[A-Za-z0-9]{2}$/)],
]
const forwardedProto: Rule = ['x-forwarded-proto', (value) => value === 'https']

const demand = (call: Call, [name, accepts]: Rule, believed: boolean): string => {
  const value = call.headers.optional(name)
  if (!believed || value === undefined || !accepts(value)) throw invalid(name, `header ${name} is missing or malformed`)
  return value
}

/** The headers of interface.md 4.1, each one demanded. The access code, the client hash and the body's type have their own stages. */
export const requiredHeaders =
  (portals: Record<Portal, PortalConfiguration>): Stage =>
  (call) => {
    if (call.chain.perimeter !== 'portal') {
      const given = call.headers.optional('x-request-id')
      if (given !== undefined && !requestIdPattern.test(given)) throw invalid('x-request-id')
      return
    }
    for (const rule of always) demand(call, rule, true)
    const cloudflareEdge = portals[call.portal ?? 'CONSUMER'].edge.kind === 'cloudflare'
    demand(call, forwardedProto, call.edgeTrusted || !cloudflareEdge)
    if (!cloudflareEdge) return
    for (const rule of cloudflare) demand(call, rule, call.edgeTrusted)
    call.country = call.headers.informative('cf-ipcountry').toUpperCase()
  }
