import { type Chain, parseLocale } from '../../kernel/index.ts'
import type { Stage } from '../call.ts'
import type { EdgeView } from '../edge-view.ts'

/** The field that names the language (interface.md section 9). */
export const localeField = ({ perimeter }: Chain) => (perimeter === 'self' ? 'accept-language' : 'x-locale')

/**
 * What is known of the client. On the chains of both portals the CONSUMER's edge is asked at first; the stage that learns
 * which portal it is asks that one's.
 */
export const edge =
  (lookAt: EdgeView): Stage =>
  (call) => {
    lookAt(call, call.chain.portal === 'SYSTEM' ? 'SYSTEM' : 'CONSUMER')
    call.userAgent = call.headers.informative('user-agent').slice(0, 512)
    call.locale = parseLocale(call.headers.informative(localeField(call.chain)))
  }
