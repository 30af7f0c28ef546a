import type { Tx } from '../../database/index.ts'
import { type AccountId, addMs, conflict, type Ids, type Instant, type Permission } from '../../kernel/index.ts'
import { recordSuccess } from '../../platform/audit/index.ts'
import { queueNotices } from './notices.ts'
import { areSame, PermissionChange } from './rules.ts'
import type { ProposalPorts } from './service.ts'
import {
  endProposal,
  hasOtherManager,
  insertProposal,
  lockPeople,
  type NewProposal,
  type PersonRow,
  pendingProposal,
  setPermissions,
} from './store.ts'

/* The company's identity provider decides who is in a group, but only a second operator grants a power. */

/** The action of the audit entries. */
const providerRights = 'proposals.applyProviderRights'

export interface ProviderRights {
  accountId: AccountId
  /** The complete new list. */
  to: readonly Permission[]
  reason: string
  at: Instant
}

/**
 * Removes the permissions of an operator that are not in `to`, and proposes the new ones for an operator to confirm. Does
 * not repeat an equal pending proposal. A proposal of the provider, or one that the removal makes void, is cancelled if
 * it differs. Other proposals of operators stay, and the next call proposes again. Throws STATE.CONFLICT if nobody could
 * manage operators afterwards.
 */
export async function applyProviderRights(
  ports: Pick<ProposalPorts, 'ids' | 'settings'>,
  tx: Tx,
  { accountId, to, reason, at }: ProviderRights,
): Promise<void> {
  const [subject] = await lockPeople(tx, [accountId])
  if (subject?.portal !== 'SYSTEM') throw new Error('only operators have permissions of a provider')
  const remaining = subject.permissions.filter((code) => to.includes(code))
  if (!areSame(subject.permissions, remaining)) {
    await assertManaged(tx, subject, remaining)
    await setPermissions(tx, subject.id, remaining, at)
    await record(ports, tx, subject, { from: subject.permissions, to: remaining }, 'DONE', reason, at)
  }
  const wanted = { from: remaining, to: [...to] }
  if (await isProposed(ports.ids, tx, subject, wanted, reason, at)) return
  if (!areSame(remaining, to)) await record(ports, tx, subject, wanted, 'PENDING', reason, at)
}

async function assertManaged(tx: Tx, subject: PersonRow, remaining: readonly Permission[]): Promise<void> {
  const manages = (permissions: readonly Permission[]) => permissions.includes('operator:manage')
  if (subject.status !== 'ACTIVE' || !manages(subject.permissions) || manages(remaining)) return
  if (!(await hasOtherManager(tx, subject.id)))
    throw conflict('the last active operator who can manage operators would lose this right')
}

/** Returns whether a pending proposal must stay. */
async function isProposed(
  ids: Ids,
  tx: Tx,
  subject: PersonRow,
  { from, to }: PermissionChange,
  reason: string,
  at: Instant,
): Promise<boolean> {
  const pending = await pendingProposal(tx, subject.id, 'PERMISSIONS', at)
  if (!pending) return false
  const change = PermissionChange.parse(pending.payload)
  const isEqual = areSame(change.to, to)
  if (areSame(change.from, from) && (pending.proposedBy !== null || isEqual)) return true
  if (!(await endProposal(tx, pending.id, { status: 'CANCELLED', decidedBy: null }, at))) return false
  await recordSuccess(tx, auditContext(ids, at), {
    workspaceId: null,
    targetId: pending.id,
    detail: { kind: pending.kind, status: 'CANCELLED', subject: subject.id, reason },
  })
  await queueNotices(tx, ids, { ...pending, reason }, 'CANCELLED', at)
  return false
}

async function record(
  { ids, settings }: Pick<ProposalPorts, 'ids' | 'settings'>,
  tx: Tx,
  subject: PersonRow,
  change: PermissionChange,
  status: 'PENDING' | 'DONE',
  reason: string,
  at: Instant,
): Promise<void> {
  const proposal: NewProposal = {
    id: ids.next<'proposal'>(),
    kind: 'PERMISSIONS',
    status,
    subjectId: subject.id,
    workspaceId: null,
    payload: change,
    reason,
    proposedBy: null,
    expiresAt: addMs(at, settings.lifetimeMs),
    executesAt: null,
  }
  if (!(await insertProposal(tx, proposal, at))) throw new Error('the account has an open proposal of this kind')
  await recordSuccess(tx, auditContext(ids, at), {
    workspaceId: null,
    targetId: proposal.id,
    detail: {
      ...{ kind: proposal.kind, status, subject: subject.id, reason },
      ...{ from: change.from.join(','), to: change.to.join(',') },
    },
  })
  await queueNotices(tx, ids, { ...proposal, subjectEmail: subject.email }, status, at)
}

function auditContext(ids: Ids, at: Instant) {
  const requestId = ids.next<'request'>()
  return {
    operationId: providerRights,
    accountId: null,
    apiKeyId: null,
    portal: 'SYSTEM',
    at,
    requestId,
    clientIp: '',
  } as const
}
