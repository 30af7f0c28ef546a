import { type Chain, parseLocale, portalOfChain } from '../../kernel/index.ts'
import type { Stage } from '../call.ts'
import type { EdgeView } from '../edge-view.ts'

/** The field that names the language (interface.md section 9). */
export const localeField = ({ perimeter }: Chain) => (perimeter === 'self' ? 'accept-language' : 'x-locale')

/** A field may hold controls of ISO 8859-1, which JSON leaves as they are: a line break and commands to who reads the log. */
const control = /\p{Cc}/gu

/**
 * What is known of the client. On the chains of both portals the CONSUMER's edge is asked at first; the stage that learns
 * which portal it is asks that one's.
 */
export const edge =
  (lookAt: EdgeView): Stage =>
  (call) => {
    lookAt(call, portalOfChain(call.chain) ?? 'CONSUMER')
    call.userAgent = call.headers.informative('user-agent').slice(0, 512).replace(control, ' ')
    call.locale = parseLocale(call.headers.informative(localeField(call.chain)))
  }
