import type { DomainPorts } from '../../api/domain.ts'
import type { OwnerNotices } from '../../api/notices.ts'
import type { Database, Tx } from '../../database/index.ts'
import {
  type AccountId,
  type Clock,
  conflict,
  type Ids,
  type Instant,
  type Permission,
  type Portal,
  type SessionId,
  type WorkspaceId,
} from '../../kernel/index.ts'
import { recordSuccess } from '../../platform/audit/index.ts'
import type { JobFacts } from '../../platform/jobs/index.ts'
import { queueNotices } from './notices.ts'
import { areSame, mayAct, PermissionChange, permissionOf } from './rules.ts'
import {
  endScheduled,
  listDue,
  lockPeople,
  lockScheduled,
  type PersonRow,
  type ProposalRow,
  setPermissions,
} from './store.ts'

interface FactorOwner {
  portal: Portal
  id: AccountId
}

export interface EffectPorts {
  members: {
    lock(tx: Tx, workspaceId: WorkspaceId): Promise<unknown>
    assertOutsider(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<void>
    assertSamePortal(tx: Tx, member: { workspaceId: WorkspaceId; accountId: AccountId }): Promise<void>
    assertWithoutOwner(tx: Tx, workspaceId: WorkspaceId): Promise<void>
    restoreOwner(tx: Tx, member: { workspaceId: WorkspaceId; accountId: AccountId }, at: Instant): Promise<void>
  }
  notices: OwnerNotices
  factors: {
    areSet(tx: Tx, owner: FactorOwner): Promise<boolean>
    areUsedSince(tx: Tx, owner: FactorOwner, since: Instant): Promise<boolean>
    reset(tx: Tx, owner: FactorOwner, at: Instant): Promise<SessionId[]>
  }
}

/** Throws STATE.CONFLICT if the proposal could not take effect now. */
export async function assertApplicable(
  { members, factors }: EffectPorts,
  tx: Tx,
  { kind, workspaceId, subject }: Pick<ProposalRow, 'kind' | 'workspaceId'> & { subject: PersonRow },
): Promise<void> {
  if (kind === 'RESET_FACTOR' && !(await factors.areSet(tx, subject)))
    throw conflict('the account has no factor to reset')
  if (workspaceId === null) return
  if (subject.status !== 'ACTIVE') throw conflict('the account is not active')
  await members.assertSamePortal(tx, { workspaceId, accountId: subject.id })
  await members.assertWithoutOwner(tx, workspaceId)
}

/** The earlier owners learn of it, too. Throws STATE.CONFLICT if an owner can run the workspace. */
export async function giveOwnership(
  { members, notices }: { members: Pick<EffectPorts['members'], 'restoreOwner'>; notices: OwnerNotices },
  tx: Tx,
  workspaceId: WorkspaceId,
  accountId: AccountId,
  at: Instant,
): Promise<void> {
  await members.restoreOwner(tx, { workspaceId, accountId }, at)
  await notices.queue(tx, { kind: 'OWNER_ADDED', workspaceId, actorId: null, memberId: accountId, gives: 'PAYOUT', at })
}

/** Returns the sessions that it ended. */
export async function applyProposal(
  ports: EffectPorts,
  tx: Tx,
  proposal: ProposalRow,
  subject: PersonRow,
  at: Instant,
): Promise<SessionId[]> {
  await assertApplicable(ports, tx, { ...proposal, subject })
  if (proposal.workspaceId !== null) await giveOwnership(ports, tx, proposal.workspaceId, subject.id, at)
  if (proposal.kind === 'RESET_FACTOR') return ports.factors.reset(tx, subject, at)
  if (proposal.kind === 'PERMISSIONS') {
    const { from, to } = PermissionChange.parse(proposal.payload)
    if (!areSame(subject.permissions, from)) throw conflict('the permissions have changed since the proposal')
    // The permissions were validated when the proposal was stored.
    await setPermissions(tx, subject.id, to as Permission[], at)
  }
  return []
}

export interface ScheduledPorts extends EffectPorts {
  database: Database
  transaction: DomainPorts['transaction']
  clock: Clock
  ids: Ids
  onSessionsEnded(ids: readonly SessionId[]): void
}

/** Also the action of the job's audit entries. */
export const scheduledJob = 'proposals.execute'

const batchSize = 100

/** A reset that fails does not prevent the others. */
export async function runScheduled(
  ports: ScheduledPorts,
  { jobId, signal }: Pick<JobFacts, 'jobId' | 'signal'>,
): Promise<void> {
  const errors: unknown[] = []
  for (const id of await listDue(ports.database, ports.clock.now(), batchSize)) {
    if (signal.aborted) break
    try {
      ports.onSessionsEnded(await executeScheduled(ports, id, jobId))
    } catch (error) {
      errors.push(error)
    }
  }
  if (errors.length > 0) throw new AggregateError(errors, `${errors.length} scheduled resets failed`)
}

/**
 * Cancels the reset if the account has used a factor since the request, or if an operator who requested or confirmed it
 * has lost the right to.
 */
async function executeScheduled(ports: ScheduledPorts, id: ProposalRow['id'], requestId: string): Promise<SessionId[]> {
  return ports.transaction(async (tx) => {
    const at = ports.clock.now()
    const proposal = await lockScheduled(tx, id, at)
    if (!proposal) return []
    const { subjectId, proposedBy, decidedBy, kind } = proposal
    const operators = [proposedBy, decidedBy].filter((id) => id !== null)
    const people = await lockPeople(tx, [subjectId, ...operators])
    const subject = people.find((person) => person.id === subjectId)
    if (!subject) return []
    const isAuthorized = operators.every((id) =>
      people.some((person) => person.id === id && mayAct(person, permissionOf[kind])),
    )
    const isObsolete =
      !isAuthorized ||
      (await ports.factors.areUsedSince(tx, subject, proposal.createdAt)) ||
      !(await ports.factors.areSet(tx, subject))
    const status = isObsolete ? 'CANCELLED' : 'DONE'
    await endScheduled(tx, id, status, at)
    const ended = isObsolete ? [] : await ports.factors.reset(tx, subject, at)
    const context = { operationId: scheduledJob, accountId: null, apiKeyId: null, requestId, clientIp: '' }
    await recordSuccess(
      tx,
      { ...context, portal: 'SYSTEM', at },
      { workspaceId: null, targetId: id, detail: { kind: proposal.kind, subject: subject.id, status } },
    )
    await queueNotices(tx, ports.ids, proposal, status, at)
    return ended
  })
}
