import { headers } from '../../../contract/headers.ts'
import { type Chain, parseLocale, portalOfChain } from '../../../kernel/index.ts'
import type { Stage } from '../call.ts'
import type { ResolveClient } from '../trusted-proxies.ts'

/** Returns the header that names the language on a chain. */
export const localeHeaderOf = ({ perimeter }: Chain): string =>
  perimeter === 'self' ? headers.acceptLanguage.field : headers.locale.field

const maxUserAgentLength = 512

/** Control characters of ISO 8859-1 are valid in a header and JSON keeps them: line breaks and escapes in a log. */
const control = /\p{Cc}/gu

/**
 * Sets the client's address, user agent and locale. Chains of both portals start with the CONSUMER edge; the stage that
 * determines the portal resolves the address again.
 */
export const edgeStage =
  (resolveClient: ResolveClient): Stage =>
  (call) => {
    resolveClient(call, portalOfChain(call.chain) ?? 'CONSUMER')
    call.userAgent = call.headers.informative('user-agent').slice(0, maxUserAgentLength).replace(control, ' ')
    call.locale = parseLocale(call.headers.informative(localeHeaderOf(call.chain)))
  }
