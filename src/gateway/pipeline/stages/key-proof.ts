import { headers } from '../../../contract/headers.ts'
import type { Portal } from '../../../kernel/index.ts'
import type { Call, Stage } from '../call.ts'
import type { AuthenticationPort } from '../ports.ts'

/**
 * Verifies the DPoP proof of a request that starts or renews a session (RFC 9449, section 5). Follows the limits, because
 * anybody can send a proof. Throws VALIDATION.INVALID_PARAMETER.
 */
export function keyProofStage(
  { keyProof }: Pick<AuthenticationPort, 'keyProof'>,
  baseUrlsOf: (portal: Portal | null) => readonly string[],
): Stage {
  return (call) => {
    if (!acceptsProof(call) || !call.headers.has(headers.dpop.field)) return
    const { method, path, portal, receivedAt } = call
    const proof = call.headers.optional(headers.dpop.field) ?? ''
    const request = { method, path, receivedAt, baseUrls: baseUrlsOf(portal), isRepeated: false }
    return keyProof(proof, request).then((proven) => {
      call.keyProof = proven
    })
  }
}

/** Browsers with a session cookie have no key. */
function acceptsProof({ chain, operation: { policy, startsBrowserSession } }: Call): boolean {
  return policy.caller === 'anonymous' && chain.perimeter === 'portal' && !startsBrowserSession
}
