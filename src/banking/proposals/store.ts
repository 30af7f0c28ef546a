import { sql } from 'kysely'
import { containsEmail, type Database, readPage, type Tx, timestamptz, validAt } from '../../database/index.ts'
import {
  type AccountId,
  type AccountStatus,
  type BizId,
  bizId,
  type Instant,
  type Page,
  type PageRequest,
  type Permission,
  type Portal,
  toDate,
  type WorkspaceId,
} from '../../kernel/index.ts'
import { recordAs } from '../../platform/events/index.ts'
import type { ProposalKind, ProposalStatus } from './contract.ts'
import type { PermissionChange } from './rules.ts'

type Store = Database | Tx
export type ProposalId = BizId<'proposal'>

const personColumns = [
  'bizId as id',
  'portal',
  'accountStatus as status',
  'email',
  'accountName as name',
  'defaultLanguage as language',
  'operatorPermissions as permissions',
  'createdAt',
  'updatedAt',
] as const

export interface PersonRow {
  id: AccountId
  portal: Portal
  status: AccountStatus
  email: string
  name: string
  language: string
  permissions: Permission[]
  createdAt: Instant
  updatedAt: Instant
}

/** Locks in the order of ids to prevent deadlocks. */
export function lockPeople(tx: Tx, ids: readonly AccountId[]): Promise<PersonRow[]> {
  return tx
    .selectFrom('accounts')
    .select(personColumns)
    .where('bizId', 'in', ids)
    .orderBy('bizId')
    .forNoKeyUpdate()
    .execute()
}

export function personById(store: Store, id: AccountId): Promise<PersonRow | undefined> {
  return store.selectFrom('accounts').select(personColumns).where('bizId', '=', id).executeTakeFirst()
}

export function operatorsWith(store: Store, permission: Permission): Promise<{ id: AccountId }[]> {
  return store
    .selectFrom('accounts')
    .select('bizId as id')
    .where('portal', '=', 'SYSTEM')
    .where('accountStatus', '=', 'ACTIVE')
    .where(sql<boolean>`${permission} = ANY (operator_permissions)`)
    .orderBy('bizId')
    .execute()
}

/** Whether another active operator has the permission. Concurrent calls wait for each other's commits. */
export async function hasOtherManager(tx: Tx, id: AccountId): Promise<boolean> {
  await sql`SELECT pg_advisory_xact_lock(hashtextextended('managers of operators', 0))`.execute(tx)
  const others = await operatorsWith(tx, 'operator:manage')
  return others.some((other) => other.id !== id)
}

export async function setPermissions(
  tx: Tx,
  id: AccountId,
  permissions: readonly Permission[],
  at: Instant,
): Promise<void> {
  await tx
    .updateTable('accounts')
    .set({ operatorPermissions: [...permissions], updatedAt: toDate(at) })
    .where('bizId', '=', id)
    .where('portal', '=', 'SYSTEM')
    .execute()
}

export interface OperatorQuery extends PageRequest {
  email: string | undefined
  id: string | undefined
  from?: Instant | undefined
  to?: Instant | undefined
  sortBy: 'createdAt' | 'accountEmail'
  sortOrder: 'asc' | 'desc'
}

const operatorSort = { createdAt: 'createdAt', accountEmail: 'emailCanonical' } as const

export function listOperators(database: Database, query: OperatorQuery): Promise<Page<PersonRow>> {
  let found = database.selectFrom('accounts').where('portal', '=', 'SYSTEM')
  if (query.email) found = found.where(containsEmail('emailCanonical', query.email))
  if (query.id) found = found.where('bizId', '=', bizId<'account'>(query.id))
  if (query.from !== undefined) found = found.where('createdAt', '>=', timestamptz(query.from))
  if (query.to !== undefined) found = found.where('createdAt', '<=', timestamptz(query.to))
  const sorted = found
    .select(personColumns)
    .orderBy(operatorSort[query.sortBy], query.sortOrder)
    .orderBy('bizId', query.sortOrder)
  return readPage(found, sorted, query)
}

const proposalColumns = [
  'p.bizId as id',
  'p.kind',
  'p.status',
  'p.subjectBizId as subjectId',
  'a.email as subjectEmail',
  'p.workspaceBizId as workspaceId',
  'p.payload',
  'p.reason',
  'p.proposedBy',
  'p.decidedBy',
  'p.expiresAt',
  'p.executesAt',
  'p.createdAt',
  'p.updatedAt',
] as const

export interface ProposalRow {
  id: ProposalId
  kind: ProposalKind
  status: ProposalStatus
  subjectId: AccountId
  subjectEmail: string
  workspaceId: WorkspaceId | null
  payload: unknown
  reason: string
  /** Null for a proposal of an identity provider. */
  proposedBy: AccountId | null
  decidedBy: AccountId | null
  expiresAt: Instant
  executesAt: Instant | null
  createdAt: Instant
  updatedAt: Instant
}

export function proposalById(store: Store, id: ProposalId): Promise<ProposalRow | undefined> {
  return proposals(store).select(proposalColumns).where('p.bizId', '=', id).executeTakeFirst()
}

export function pendingProposal(
  tx: Tx,
  subjectId: AccountId,
  kind: ProposalKind,
  at: Instant,
): Promise<ProposalRow | undefined> {
  return proposals(tx)
    .select(proposalColumns)
    .where('p.subjectBizId', '=', subjectId)
    .where('p.kind', '=', kind)
    .where('p.status', '=', 'PENDING')
    .where(validAt('p.createdAt', 'p.expiresAt', at))
    .executeTakeFirst()
}

/** Returns the proposal as a change recorded it, with the present address of its subject. */
export function proposalOfRecord(tx: Tx, record: unknown): Promise<ProposalRow> {
  return tx
    .selectFrom(recordAs('operator_proposals', record, 'p'))
    .innerJoin('accounts as a', 'a.bizId', 'p.subjectBizId')
    .select(proposalColumns)
    .executeTakeFirstOrThrow()
}

export interface NewProposal {
  id: ProposalId
  kind: ProposalKind
  status: Extract<ProposalStatus, 'PENDING' | 'SCHEDULED' | 'DONE'>
  subjectId: AccountId
  workspaceId: WorkspaceId | null
  payload: PermissionChange | null
  reason: string
  proposedBy: AccountId | null
  expiresAt: Instant
  executesAt: Instant | null
}

/** Stores the expiry of an overdue proposal first. Returns false if the account has an open proposal of this kind. */
export async function insertProposal(tx: Tx, proposal: NewProposal, at: Instant): Promise<boolean> {
  const now = toDate(at)
  await tx
    .updateTable('operator_proposals')
    .set({ status: 'EXPIRED', updatedAt: now })
    .where('subjectBizId', '=', proposal.subjectId)
    .where('kind', '=', proposal.kind)
    .where('status', '=', 'PENDING')
    .where(sql<boolean>`NOT ${validAt('createdAt', 'expiresAt', at)}`)
    .execute()
  const inserted = await tx
    .insertInto('operator_proposals')
    .values({
      bizId: proposal.id,
      kind: proposal.kind,
      subjectBizId: proposal.subjectId,
      workspaceBizId: proposal.workspaceId,
      payload: proposal.payload && JSON.stringify(proposal.payload),
      reason: proposal.reason,
      status: proposal.status,
      proposedBy: proposal.proposedBy,
      decidedBy: null,
      expiresAt: toDate(proposal.expiresAt),
      executesAt: proposal.executesAt === null ? null : toDate(proposal.executesAt),
      createdAt: now,
      updatedAt: now,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning('bizId')
    .executeTakeFirst()
  return inserted !== undefined
}

/** Returns false if the proposal is not pending or has expired. */
export async function spendProposal(
  tx: Tx,
  id: ProposalId,
  { decidedBy, executesAt }: { decidedBy: AccountId; executesAt: Instant | null },
  at: Instant,
): Promise<boolean> {
  const spent = await tx
    .updateTable('operator_proposals')
    .set({
      status: executesAt === null ? 'DONE' : 'SCHEDULED',
      decidedBy: decidedBy,
      executesAt: executesAt === null ? null : toDate(executesAt),
      updatedAt: toDate(at),
    })
    .where('bizId', '=', id)
    .where('status', '=', 'PENDING')
    .where(validAt('createdAt', 'expiresAt', at))
    .returning('bizId')
    .executeTakeFirst()
  return spent !== undefined
}

/** Returns false if the proposal is not open. */
export async function endProposal(
  tx: Tx,
  id: ProposalId,
  { status, decidedBy }: { status: 'REJECTED' | 'CANCELLED'; decidedBy: AccountId | null },
  at: Instant,
): Promise<boolean> {
  const ended = await tx
    .updateTable('operator_proposals')
    .set({ status, updatedAt: toDate(at), ...(decidedBy !== null && { decidedBy: decidedBy }) })
    .where('bizId', '=', id)
    .where((eb) =>
      eb.or([
        eb('status', '=', 'SCHEDULED'),
        eb.and([eb('status', '=', 'PENDING'), eb(validAt('createdAt', 'expiresAt', at), '=', true)]),
      ]),
    )
    .returning('bizId')
    .executeTakeFirst()
  return ended !== undefined
}

/** Locks the proposal. Returns undefined if it has ended. */
export function lockScheduled(tx: Tx, id: ProposalId, at: Instant): Promise<ProposalRow | undefined> {
  return proposals(tx)
    .select(proposalColumns)
    .where('p.bizId', '=', id)
    .where('p.status', '=', 'SCHEDULED')
    .where('p.executesAt', '<=', timestamptz(at))
    .forNoKeyUpdate('p')
    .executeTakeFirst()
}

export async function endScheduled(tx: Tx, id: ProposalId, status: 'DONE' | 'CANCELLED', at: Instant): Promise<void> {
  await tx
    .updateTable('operator_proposals')
    .set({ status, updatedAt: toDate(at) })
    .where('bizId', '=', id)
    .execute()
}

export async function listDue(database: Database, at: Instant, limit: number): Promise<ProposalId[]> {
  const due = await database
    .selectFrom('operator_proposals')
    .select('bizId as id')
    .where('status', '=', 'SCHEDULED')
    .where('executesAt', '<=', timestamptz(at))
    .orderBy('executesAt')
    .limit(limit)
    .execute()
  return due.map(({ id }) => id)
}

export interface ProposalQuery extends PageRequest {
  status: ProposalStatus | undefined
  kind: ProposalKind | undefined
  id: string | undefined
  from?: Instant | undefined
  to?: Instant | undefined
  sortBy: 'createdAt' | 'updatedAt'
  sortOrder: 'asc' | 'desc'
}

/** Without those whose time limit has passed. */
export function countPending(database: Database, at: Instant): Promise<{ waiting: number; since: Instant | null }> {
  return database
    .selectFrom('operator_proposals')
    .where(sql<boolean>`status = 'PENDING'`)
    .where(validAt('createdAt', 'expiresAt', at))
    .select([
      (eb) => eb.fn.countAll<number>().as('waiting'),
      (eb) => eb.fn.min<Instant | null>('createdAt').as('since'),
    ])
    .executeTakeFirstOrThrow()
}

const proposalSort = { createdAt: 'p.createdAt', updatedAt: 'p.updatedAt' } as const

/** The status filter sees a pending proposal after its time limit as EXPIRED. */
export function listProposals(database: Database, query: ProposalQuery, at: Instant): Promise<Page<ProposalRow>> {
  let found = proposals(database)
  const valid = validAt('p.createdAt', 'p.expiresAt', at)
  if (query.status === 'EXPIRED')
    found = found.where(sql<boolean>`(p.status = 'EXPIRED' OR (p.status = 'PENDING' AND NOT ${valid}))`)
  else if (query.status !== undefined) found = found.where('p.status', '=', query.status)
  if (query.status === 'PENDING') found = found.where(valid)
  if (query.kind) found = found.where('p.kind', '=', query.kind)
  if (query.id) found = found.where('p.bizId', '=', bizId<'proposal'>(query.id))
  if (query.from !== undefined) found = found.where('p.createdAt', '>=', timestamptz(query.from))
  if (query.to !== undefined) found = found.where('p.createdAt', '<=', timestamptz(query.to))
  const sorted = found
    .select(proposalColumns)
    .orderBy(proposalSort[query.sortBy], query.sortOrder)
    .orderBy('p.bizId', query.sortOrder)
  return readPage(found, sorted, query)
}

function proposals(store: Store) {
  return store.selectFrom('operator_proposals as p').innerJoin('accounts as a', 'a.bizId', 'p.subjectBizId')
}
