import { canonicalPurpose } from '../../contract/step-up-purpose.ts'
import { type Database, inTransaction } from '../../database/index.ts'
import type { Operation } from '../../kernel/index.ts'
import { auditContextOf, recordSuccess } from '../../platform/audit/index.ts'
import { stepUp } from '../mfa/contract.ts'
import type { CallerContext } from '../ports.ts'
import { assertSession } from '../sessions/rules.ts'
import { digestOfPurpose } from './digest.ts'
import { releaseStepUp } from './store.ts'

/**
 * Returns the step-up that this request spent, because the operation has refused and changed nothing. Only for an operation
 * without fields and idempotency key: each of its requests spends another step-up.
 */
export async function returnStepUp(database: Database, operation: Operation, context: CallerContext): Promise<void> {
  const { steppedUpAt } = context.caller
  if (steppedUpAt === null) return
  const session = assertSession(context.caller)
  const purposeDigest = digestOfPurpose(canonicalPurpose(operation, null, {}))
  await inTransaction(database, async (tx) => {
    // With `mfa.binding: session`, none is spent.
    if (!(await releaseStepUp(tx, session, Buffer.from(purposeDigest, 'hex'), steppedUpAt))) return
    const detail = { event: 'RETURNED', operation: operation.id, purposeDigest }
    const auditContext = { ...auditContextOf(context), operationId: stepUp.id }
    await recordSuccess(tx, auditContext, { workspaceId: null, targetId: session.sessionId, detail })
  })
}
