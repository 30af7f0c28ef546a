import type { z } from 'zod'
import type { DomainPorts } from '../../api/domain.ts'
import { assertKnownPermissions } from '../../contract/permissions.ts'
import type { Database, Tx } from '../../database/index.ts'
import {
  type AccountId,
  addMs,
  type Caller,
  conflict,
  type Ids,
  type Instant,
  notFound,
  type Permission,
  type Portal,
  Refusal,
  type SessionId,
  type WorkspaceId,
} from '../../kernel/index.ts'
import { type AuditContext, recordSuccess } from '../../platform/audit/index.ts'
import type { ProposalKind } from './contract.ts'
import { applyProposal, assertApplicable, type EffectPorts } from './effects.ts'
import { queueNotices } from './notices.ts'
import {
  areSame,
  assertMayAct,
  assertMayGrant,
  mayAct,
  mayGrant,
  PermissionChange,
  permissionOf,
  type proposalSettings,
} from './rules.ts'
import {
  endProposal,
  insertProposal,
  lockPeople,
  type NewProposal,
  type PersonRow,
  type ProposalId,
  type ProposalRow,
  proposalById,
  setPermissions,
  spendProposal,
} from './store.ts'

export interface ProposalPorts extends EffectPorts {
  database: Database
  transaction: DomainPorts['transaction']
  ids: Ids
  permissions: readonly Permission[]
  /** Of the deployment. */
  portals: readonly Portal[]
  invite: DomainPorts['identityProviders']['invite']
  settings: z.output<typeof proposalSettings>
  /** Throws ACCESS.PERMISSION_DENIED if both accounts belong to the same person. */
  assertDifferentPerson(tx: Tx, one: AccountId, other: AccountId): Promise<void>
  /** Called after the commit. */
  onSessionsEnded(ids: readonly SessionId[]): void
}

export interface PermissionsInput {
  subjectId: AccountId
  permissionCodes: readonly string[]
  reason: string
}

/** The proposer must hold the permissions that are added. */
export function proposePermissions(
  ports: ProposalPorts,
  { subjectId, permissionCodes, reason }: PermissionsInput,
  auditContext: AuditContext,
  caller: Pick<Caller, 'withheld'>,
): Promise<ProposalRow> {
  return ports.transaction(async (tx) => {
    assertKnownPermissions(permissionCodes, ports.permissions)
    const accounts = { actorId: auditContext.accountId, subjectId }
    const { actor, subject } = await lockParties(ports, tx, accounts, 'PERMISSIONS')
    assertOperator(subject)
    const change = { from: subject.permissions, to: [...permissionCodes] }
    if (areSame(change.from, change.to)) throw conflict('the operator has exactly these permissions')
    assertMayGrant(actor, change, caller)
    return store(ports, tx, { kind: 'PERMISSIONS', subject, reason, change }, auditContext)
  })
}

/** An open proposal for the operator cannot be confirmed afterwards, because the permissions have changed. */
export function revokePermissions(
  ports: ProposalPorts,
  { subjectId, permissionCodes, reason }: PermissionsInput,
  auditContext: AuditContext,
): Promise<ProposalRow> {
  return ports.transaction(async (tx) => {
    const accounts = { actorId: auditContext.accountId, subjectId }
    const { subject } = await lockParties(ports, tx, accounts, 'PERMISSIONS')
    assertOperator(subject)
    const to = subject.permissions.filter((code) => !permissionCodes.includes(code))
    if (areSame(subject.permissions, to)) throw conflict('the operator has none of these permissions')
    await setPermissions(tx, subjectId, to, auditContext.at)
    const change = { from: subject.permissions, to }
    return store(ports, tx, { kind: 'PERMISSIONS', subject, reason, change, status: 'DONE' }, auditContext)
  })
}

export function proposeOwner(
  ports: ProposalPorts,
  { workspaceId, subjectId, reason }: { workspaceId: WorkspaceId; subjectId: AccountId; reason: string },
  auditContext: AuditContext,
): Promise<ProposalRow> {
  return ports.transaction(async (tx) => {
    found(await ports.members.lock(tx, workspaceId), 'workspace')
    const accounts = { actorId: auditContext.accountId, subjectId }
    const { subject } = await lockParties(ports, tx, accounts, 'RESTORE_OWNER')
    await ports.members.assertOutsider(tx, auditContext.accountId, workspaceId)
    await assertApplicable(ports, tx, { kind: 'RESTORE_OWNER', workspaceId, subject })
    return store(ports, tx, { kind: 'RESTORE_OWNER', subject, reason, workspaceId }, auditContext)
  })
}

/**
 * For an operator, another operator must confirm the reset. It takes effect after the delay, unless it is rejected or
 * the account uses a factor meanwhile.
 */
export async function resetFactors(
  ports: ProposalPorts,
  { subjectId, reason }: { subjectId: AccountId; reason: string },
  auditContext: AuditContext,
): Promise<ProposalRow> {
  const { row, ended } = await ports.transaction(async (tx) => {
    const accounts = { actorId: auditContext.accountId, subjectId }
    const { subject } = await lockParties(ports, tx, accounts, 'RESET_FACTOR')
    await assertApplicable(ports, tx, { kind: 'RESET_FACTOR', workspaceId: null, subject })
    const proposal = { kind: 'RESET_FACTOR', subject, reason } as const
    if (subject.portal === 'SYSTEM') return { row: await store(ports, tx, proposal, auditContext), ended: [] }
    const executesAt = addMs(auditContext.at, ports.settings.factorResetDelayMs)
    const isDue = executesAt === auditContext.at
    const stored = { ...proposal, status: isDue ? 'DONE' : 'SCHEDULED', executesAt } as const
    const row = await store(ports, tx, stored, auditContext)
    return { row, ended: isDue ? await applyProposal(ports, tx, row, subject, auditContext.at) : [] }
  })
  ports.onSessionsEnded(ended)
  return row
}

/** Of parallel confirmations, one succeeds and the others get STATE.CONFLICT. */
export async function confirmProposal(
  ports: ProposalPorts,
  id: ProposalId,
  auditContext: AuditContext,
  caller: Pick<Caller, 'withheld'>,
): Promise<ProposalRow> {
  const { accountId: actorId, at } = auditContext
  const { row, ended } = await ports.transaction(async (tx) => {
    const proposal = found(await proposalById(tx, id), 'proposal')
    const { kind, subjectId, proposedBy: proposerId, workspaceId, payload } = proposal
    const delayMs = kind === 'RESET_FACTOR' ? ports.settings.factorResetDelayMs : 0
    const executesAt = delayMs > 0 ? addMs(at, delayMs) : null
    if (!(await spendProposal(tx, id, { decidedBy: actorId, executesAt }, at))) throw conflict('not pending any more')
    if (workspaceId !== null) await ports.members.lock(tx, workspaceId)
    const parties = await lockParties(ports, tx, { actorId, subjectId, proposerId }, kind)
    if (proposerId !== null) await ports.assertDifferentPerson(tx, proposerId, actorId)
    if (workspaceId !== null) await ports.members.assertOutsider(tx, actorId, workspaceId)
    if (payload !== null) assertMayGrant(parties.actor, PermissionChange.parse(payload), caller)
    assertProposerMayStill(parties, proposal)
    const ended = executesAt === null ? await applyProposal(ports, tx, proposal, parties.subject, at) : []
    const confirmed = found(await proposalById(tx, id), 'proposal')
    const detail = { kind, status: confirmed.status, subject: subjectId }
    await recordSuccess(tx, auditContext, { workspaceId, targetId: id, detail })
    await queueNotices(tx, ports.ids, confirmed, confirmed.status, at)
    return { row: confirmed, ended }
  })
  ports.onSessionsEnded(ended)
  return row
}

/** Throws STATE.CONFLICT if the proposal is not open. */
export function rejectProposal(
  ports: ProposalPorts,
  { id, reason }: { id: ProposalId; reason: string },
  auditContext: AuditContext,
): Promise<ProposalRow> {
  return ports.transaction(async (tx) => {
    const { accountId: actorId, at } = auditContext
    const { kind, subjectId, workspaceId } = found(await proposalById(tx, id), 'proposal')
    if (!(await endProposal(tx, id, { status: 'REJECTED', decidedBy: actorId }, at)))
      throw conflict('not open any more')
    await lockParties(ports, tx, { actorId, subjectId }, kind)
    const rejected = found(await proposalById(tx, id), 'proposal')
    await recordSuccess(tx, auditContext, { workspaceId, targetId: id, detail: { kind, subject: subjectId, reason } })
    await queueNotices(tx, ports.ids, { ...rejected, reason }, 'REJECTED', at)
    return rejected
  })
}

export interface InvitationInput {
  portal: Portal
  providerId: string
  email: string
}

/** Throws STATE.CONFLICT if the address has an account, or the provider needs no invitation. */
export function invitePerson(
  ports: ProposalPorts,
  { portal, providerId, email }: InvitationInput,
  auditContext: AuditContext,
): Promise<{ id: string; expiresAt: Instant }> {
  const { accountId: actorId, at } = auditContext
  return ports.transaction(async (tx) => {
    const [actor] = await lockPeople(tx, [actorId])
    if (actor?.status !== 'ACTIVE')
      throw new Refusal('ACCESS.TOKEN_INVALID', { internal: 'the operator is not active' })
    assertMayAct(actor, 'operator:manage')
    const invitation = await ports.invite(tx, { portal, providerId, email, invitedBy: actorId }, at)
    const detail = { portal, provider: providerId, email }
    await recordSuccess(tx, auditContext, { workspaceId: null, targetId: invitation.id, detail })
    return invitation
  })
}

interface Parties {
  actor: PersonRow
  subject: PersonRow
  /** Null for a proposal of an identity provider. */
  proposer: PersonRow | null
}

/** Throws if the actor lacks the permission, or decides about their own person. */
async function lockParties(
  ports: ProposalPorts,
  tx: Tx,
  {
    actorId,
    subjectId,
    proposerId = null,
  }: { actorId: AccountId; subjectId: AccountId; proposerId?: AccountId | null },
  kind: ProposalKind,
): Promise<Parties> {
  const people = await lockPeople(tx, [actorId, subjectId, ...(proposerId === null ? [] : [proposerId])])
  const personOf = (id: AccountId) => people.find((one) => one.id === id)
  const actor = personOf(actorId)
  if (actor?.status !== 'ACTIVE') throw new Refusal('ACCESS.TOKEN_INVALID', { internal: 'the operator is not active' })
  assertMayAct(actor, permissionOf[kind])
  const subject = found(personOf(subjectId), 'account')
  await ports.assertDifferentPerson(tx, subjectId, actorId)
  return { actor, subject, proposer: proposerId === null ? null : found(personOf(proposerId), 'account') }
}

function found<T>(row: T | undefined, what: string): T {
  if (row === undefined) throw notFound(`no such ${what}`)
  return row
}

function assertOperator({ portal }: PersonRow): void {
  if (portal !== 'SYSTEM') throw notFound('no such operator')
}

interface NewProposalInput {
  kind: ProposalKind
  subject: PersonRow
  reason: string
  status?: NewProposal['status']
  workspaceId?: WorkspaceId
  change?: PermissionChange
  executesAt?: Instant
}

/** Throws STATE.CONFLICT if a proposal of this kind is open. */
async function store(
  { ids, settings }: ProposalPorts,
  tx: Tx,
  { kind, subject, reason, status = 'PENDING', workspaceId, change, executesAt }: NewProposalInput,
  auditContext: AuditContext,
): Promise<ProposalRow> {
  const { at, accountId: proposedBy } = auditContext
  const proposal: NewProposal = {
    id: ids.next<'proposal'>(),
    kind,
    status,
    subjectId: subject.id,
    workspaceId: workspaceId ?? null,
    payload: change ?? null,
    reason,
    proposedBy,
    expiresAt: addMs(at, settings.lifetimeMs),
    executesAt: executesAt ?? null,
  }
  if (!(await insertProposal(tx, proposal, at))) throw conflict('the account has an open proposal of this kind')
  const row = found(await proposalById(tx, proposal.id), 'proposal')
  const detail = {
    kind,
    status,
    subject: subject.id,
    reason,
    ...(change && { from: change.from.join(','), to: change.to.join(',') }),
  }
  await recordSuccess(tx, auditContext, { workspaceId: row.workspaceId, targetId: row.id, detail })
  await queueNotices(tx, ids, row, status, at)
  return row
}

function assertProposerMayStill({ proposer }: Parties, { kind, payload }: ProposalRow): void {
  if (proposer === null) return
  const holds = mayAct(proposer, permissionOf[kind])
  if (!holds || (payload !== null && !mayGrant(proposer, PermissionChange.parse(payload))))
    throw conflict('the proposer has lost the rights that the proposal needs')
}
