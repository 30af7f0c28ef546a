import { inTransaction, type Tx } from '../../database/index.ts'
import type { StepUpCommand, StepUpPort } from '../../gateway/pipeline/ports.ts'
import { addMs, type Idempotency, type Instant } from '../../kernel/index.ts'
import { recordSuccess } from '../../platform/audit/index.ts'
import { stepUp } from '../mfa/contract.ts'
import type { IdentityPorts } from '../ports.ts'
import { assertSession, type OwnSession } from '../sessions/rules.ts'
import type { IdentitySettings } from '../settings.ts'
import type { StepUpAbsence } from './absence.ts'
import { digestOfPurpose } from './digest.ts'
import { putStepUp, type RecentStepUp, recentStepUps, spendStepUp } from './store.ts'

export function recordPurpose(
  tx: Tx,
  session: OwnSession,
  purposeDigest: string,
  { stepUpMs }: IdentitySettings['mfa'],
  now: Instant,
): Promise<void> {
  return putStepUp(tx, session, toBytes(purposeDigest), now, addMs(now, stepUpMs))
}

interface StepUpPorts extends Pick<IdentityPorts, 'clock' | 'database' | 'ids'> {
  stepUpAbsence: StepUpAbsence
}

const noRecentStepUp = { reason: 'no recent step-up' }

/** Spends step-ups that are bound to a purpose, each one in one transaction with its audit entry. */
export function createStepUps(ports: StepUpPorts): StepUpPort {
  return {
    spend: async (command) =>
      command.caller.sessionId === null
        ? { reason: 'an API key cannot step up' }
        : spend(ports, assertSession(command.caller), command),
  }
}

function toBytes(digest: string): Uint8Array {
  return Buffer.from(digest, 'hex')
}

/** Most commands with the policy `stepUp: 'maybe'` have no step-up, so one read precedes the transaction. */
async function spend(
  { clock, database, ids, stepUpAbsence }: StepUpPorts,
  session: OwnSession,
  command: StepUpCommand,
): ReturnType<StepUpPort['spend']> {
  const recent = await stepUpAbsence.recent(session)
  // Without any, two digests of the body are not needed.
  if (recent.length === 0) return noRecentStepUp
  const { context, workspaceId, idempotency } = command
  const now = clock.now()
  const digest = digestOfPurpose(command.purpose)
  const spentBy = idempotency ? keyOf(idempotency) : ids.next()
  const spent = findSpent(recent, digest, spentBy)
  if (spent) return spent
  return inTransaction(database, async (tx) => {
    const verifiedAt = await spendStepUp(tx, session, toBytes(digest), spentBy, now)
    if (verifiedAt === undefined)
      return (
        findSpent(await recentStepUps(tx, session, now), digest, spentBy) ?? {
          reason: 'the step-up for this purpose is gone',
        }
      )
    // The command has a separate entry, which depends on its outcome.
    const detail = { event: 'SPENT', operation: context.operationId, purposeDigest: digest }
    await recordSuccess(
      tx,
      { ...context, operationId: stepUp.id },
      { workspaceId, targetId: session.sessionId, detail },
    )
    return { verifiedAt }
  })
}

/** A retry has the same key. Operation and workspace are part of the purpose. */
function keyOf({ key, bodyHash }: Idempotency): string {
  return `${key} ${bodyHash}`
}

/** Undefined if the step-up can be spent. */
function findSpent(
  recent: readonly RecentStepUp[],
  digest: string,
  spentBy: string,
): { verifiedAt: Instant } | { reason: string } | undefined {
  const own = recent.find(({ purposeDigest }) => Buffer.from(purposeDigest).equals(toBytes(digest)))
  if (own?.spentBy === null) return undefined
  return own?.spentBy === spentBy ? { verifiedAt: own.verifiedAt } : { reason: reasonOf(recent, own) }
}

function reasonOf(recent: readonly RecentStepUp[], own: RecentStepUp | undefined): string {
  if (own) return 'the step-up for this purpose is spent'
  return recent.length === 0 ? noRecentStepUp.reason : 'the recent step-ups have other purposes'
}
