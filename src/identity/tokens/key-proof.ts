import { invalid, type RequestContext } from '../../kernel/index.ts'
import type { RequestProofs } from '../../platform/proofs/index.ts'

/**
 * A proof (RFC 9449) starts or renews one session. Call it before the transaction, which can run twice. Throws
 * VALIDATION.INVALID_PARAMETER for a proof that was used before.
 */
export async function spendKeyProof(
  { proofs }: { proofs: Pick<RequestProofs, 'spend'> },
  { keyProof }: Pick<RequestContext, 'keyProof'>,
): Promise<void> {
  if (keyProof && !(await proofs.spend(keyProof.id))) throw invalid('dpop', 'the proof was used before')
}
