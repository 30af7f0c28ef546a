import { type ExpressionBuilder, type SqlBool, sql } from 'kysely'
import type { Database, Tables, Tx } from '../../database/index.ts'
import {
  type AccountId,
  type AccountStatus,
  type BizId,
  bizId,
  canonicalEmail,
  type Instant,
  isBizId,
  type Permission,
  toDate,
} from '../../kernel/index.ts'
import type { Comparison } from './scim/attributes.ts'
import { nameOf, type Person } from './scim/person.ts'

export type Store = Database | Tx

export interface PersonRow extends Omit<Person, 'active'> {
  id: AccountId
  status: AccountStatus
  suspendedByProvider: boolean
  deletedAt: Instant | null
  createdAt: Instant
  updatedAt: Instant
}

/** Serializes the commands of a provider, whose order decides who has which rights. */
export async function lockProvider(tx: Tx, providerId: string): Promise<void> {
  await sql`SELECT pg_advisory_xact_lock(hashtextextended(${`provisioning ${providerId}`}, 0))`.execute(tx)
}

export interface OperatorRow {
  id: AccountId
  status: AccountStatus
  permissions: Permission[]
}

/**
 * Locks the operators, and all who can manage operators, in the order of ids: two commands cannot suspend the last two
 * managers concurrently.
 */
export function lockOperators(tx: Tx, ids: readonly AccountId[]): Promise<OperatorRow[]> {
  return tx
    .selectFrom('accounts')
    .select(['bizId as id', 'accountStatus as status', 'operatorPermissions as permissions'])
    .where('portal', '=', 'SYSTEM')
    .where((eb) => eb.or([eb('bizId', 'in', ids), isManager()]))
    .orderBy('bizId')
    .forNoKeyUpdate()
    .execute()
}

export async function hasManager(tx: Tx): Promise<boolean> {
  const found = await tx
    .selectFrom('accounts')
    .select('bizId')
    .where('portal', '=', 'SYSTEM')
    .where(isManager())
    .limit(1)
    .executeTakeFirst()
  return found !== undefined
}

/** Returns undefined for a person of another provider. */
export function personById(store: Store, providerId: string, id: string): Promise<PersonRow | undefined> {
  return people(store, providerId)
    .where('s.accountBizId', '=', bizId<'account'>(id))
    .where('s.deletedAt', 'is', null)
    .executeTakeFirst()
}

export function deletedPerson(tx: Tx, providerId: string, externalId: string): Promise<PersonRow | undefined> {
  return people(tx, providerId)
    .where('s.externalId', '=', externalId)
    .where('s.deletedAt', 'is not', null)
    .executeTakeFirst()
}

/** Returns those of the ids that are people of the provider. */
export async function knownPeople(tx: Tx, providerId: string, ids: readonly string[]): Promise<AccountId[]> {
  const valid = ids.filter(isBizId).map((id) => bizId<'account'>(id))
  if (valid.length === 0) return []
  const found = await tx
    .selectFrom('provisioned_people')
    .select('accountBizId as id')
    .where('providerId', '=', providerId)
    .where('deletedAt', 'is', null)
    .where('accountBizId', 'in', valid)
    .execute()
  return found.map(({ id }) => id)
}

export async function countPeople(store: Store, providerId: string): Promise<number> {
  const { total } = await store
    .selectFrom('provisioned_people')
    .where('providerId', '=', providerId)
    .select((eb) => eb.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return Number(total)
}

export interface Slice {
  comparisons: readonly Comparison[]
  offset: number
  limit: number
}

/** In the order of creation. `undefined` for a filter with another attribute. */
export async function listPeople(
  store: Store,
  providerId: string,
  { comparisons, offset, limit }: Slice,
): Promise<{ rows: PersonRow[]; total: number } | undefined> {
  const conditions = comparisons.map(personCondition)
  if (conditions.includes(null)) return undefined
  let found = people(store, providerId).where('s.deletedAt', 'is', null)
  for (const condition of conditions) if (condition) found = found.where(condition)
  const rows = await found
    .orderBy('s.createdAt')
    .orderBy('s.accountBizId')
    .offset(offset)
    .limit(Math.max(limit, 1))
    .execute()
  const counted = await found
    .clearSelect()
    .select((eb) => eb.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return { rows: rows.slice(0, limit), total: Number(counted.total) }
}

/** Returns false if the portal or the provider has the address, the name or the external id. */
export async function insertPerson(
  tx: Tx,
  person: Person & { id: AccountId; institutionId: string; providerId: string },
  at: Instant,
): Promise<boolean> {
  const now = toDate(at)
  const account = await tx
    .insertInto('accounts')
    .values({
      bizId: person.id,
      portal: 'SYSTEM',
      institutionBizId: person.institutionId,
      accountStatus: person.active ? 'ACTIVE' : 'SUSPENDED',
      email: person.email,
      emailCanonical: canonicalEmail(person.email),
      emailVerifiedAt: now,
      accountName: nameOf(person),
      defaultLanguage: 'en',
      defaultTimezone: 'UTC',
      defaultCountry: 'US',
      ssoEnabled: true,
      createdAt: now,
      updatedAt: now,
    })
    .onConflict((conflict) => conflict.columns(['portal', 'emailCanonical']).doNothing())
    .returning('bizId')
    .executeTakeFirst()
  if (!account) return false
  const inserted = await tx
    .insertInto('provisioned_people')
    .values({
      accountBizId: person.id,
      providerId: person.providerId,
      ...columnsOf(person),
      suspendedByProvider: !person.active,
      createdAt: now,
      updatedAt: now,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning('accountBizId')
    .executeTakeFirst()
  return inserted !== undefined
}

/** Returns false as `insertPerson` does. */
export async function updatePerson(
  tx: Tx,
  providerId: string,
  person: Person & { id: AccountId; status: AccountStatus; suspendedByProvider: boolean; deletedAt: Instant | null },
  at: Instant,
): Promise<boolean> {
  const now = toDate(at)
  const emailCanonical = canonicalEmail(person.email)
  const taken = await tx
    .selectFrom('accounts')
    .leftJoin('provisioned_people as s', 's.accountBizId', 'accounts.bizId')
    .select('bizId')
    .where('bizId', '!=', person.id)
    .where((eb) =>
      eb.or([
        eb.and([eb('portal', '=', 'SYSTEM'), eb('emailCanonical', '=', emailCanonical)]),
        eb.and([
          eb('s.providerId', '=', providerId),
          eb.or([
            eb.and([eb('s.userNameKey', '=', nameKey(person.userName)), eb('s.deletedAt', 'is', null)]),
            eb('s.externalId', '=', person.externalId),
          ]),
        ]),
      ]),
    )
    .limit(1)
    .executeTakeFirst()
  if (taken) return false
  await tx
    .updateTable('accounts')
    .set({
      email: person.email,
      emailCanonical,
      accountName: nameOf(person),
      accountStatus: person.status,
      updatedAt: now,
    })
    .where('bizId', '=', person.id)
    .where('portal', '=', 'SYSTEM')
    .execute()
  await tx
    .updateTable('provisioned_people')
    .set({
      ...columnsOf(person),
      suspendedByProvider: person.suspendedByProvider,
      deletedAt: person.deletedAt === null ? null : toDate(person.deletedAt),
      updatedAt: now,
    })
    .where('accountBizId', '=', person.id)
    .where('providerId', '=', providerId)
    .execute()
  return true
}

export function nameKey(text: string): string {
  return text.normalize('NFKC').toLowerCase()
}

/** The first sign-in finds the account by the external id. Returns false if another account has it. */
export async function linkIdentity(
  tx: Tx,
  { id, bizId, issuer, providerId, externalId }: NewIdentity,
  at: Instant,
): Promise<boolean> {
  if (externalId === null) {
    // A person who has signed in stays linked by the subject.
    await tx
      .deleteFrom('provider_identities')
      .where('accountBizId', '=', id)
      .where('providerId', '=', providerId)
      .where('subject', 'is', null)
      .execute()
    await tx
      .updateTable('provider_identities')
      .set({ externalId: null })
      .where('accountBizId', '=', id)
      .where('providerId', '=', providerId)
      .execute()
    return true
  }
  const taken = await tx
    .selectFrom('provider_identities')
    .select('bizId')
    .where('portal', '=', 'SYSTEM')
    .where('providerId', '=', providerId)
    .where('externalId', '=', externalId)
    .where('accountBizId', '!=', id)
    .executeTakeFirst()
  if (taken) return false
  await tx
    .insertInto('provider_identities')
    .values({
      bizId,
      portal: 'SYSTEM',
      accountBizId: id,
      providerId,
      issuer,
      externalId,
      subject: null,
      createdAt: toDate(at),
      linkedAt: null,
      lastSignInAt: null,
    })
    .onConflict((conflict) => conflict.columns(['accountBizId', 'providerId']).doUpdateSet({ externalId }))
    .execute()
  return true
}

export interface NewIdentity {
  id: AccountId
  bizId: BizId<'identity'>
  issuer: string
  providerId: string
  externalId: string | null
}

type PeopleTables = Tables & { s: Tables['provisioned_people']; a: Tables['accounts'] }
type Condition = (eb: ExpressionBuilder<PeopleTables, 's' | 'a'>) => ReturnType<typeof sql<SqlBool>>

/** Null for an attribute without a column. */
function personCondition({ attribute, value, within }: Comparison): Condition | null {
  if (attribute === 'active') return () => sql<SqlBool>`(a.account_status = 'ACTIVE') = ${String(value) === 'true'}`
  if (typeof value === 'boolean') return null
  const isWork = within === null || (within.attribute === 'type' && String(within.value).toLowerCase() === 'work')
  switch (attribute) {
    case 'username':
      return () => sql<SqlBool>`s.user_name_key = ${nameKey(value)}`
    case 'externalid':
      return () => sql<SqlBool>`s.external_id = ${value}`
    case 'id':
      return () => sql<SqlBool>`s.account_biz_id::text = ${value.toLowerCase()}`
    case 'displayname':
      return () => sql<SqlBool>`lower(s.display_name) = lower(${value})`
    case 'emails':
    case 'emails.value':
      return () => sql<SqlBool>`${isWork} AND a.email_canonical = ${canonicalEmail(value)}`
    default:
      return null
  }
}

function people(store: Store, providerId: string) {
  return store
    .selectFrom('provisioned_people as s')
    .innerJoin('accounts as a', 'a.bizId', 's.accountBizId')
    .select([
      ...(['s.accountBizId as id', 's.userName', 's.externalId', 's.formattedName as formatted'] as const),
      ...(['s.givenName', 's.familyName', 's.displayName', 's.suspendedByProvider', 's.deletedAt'] as const),
      ...(['s.createdAt', 's.updatedAt', 'a.email', 'a.accountStatus as status'] as const),
    ])
    .where('s.providerId', '=', providerId)
}

function columnsOf({ userName, externalId, formatted, givenName, familyName, displayName }: Person) {
  const name = { formattedName: formatted, givenName, familyName, displayName }
  return { userName, userNameKey: nameKey(userName), externalId, ...name }
}

function isManager() {
  return sql<boolean>`(account_status = 'ACTIVE' AND 'operator:manage' = ANY (operator_permissions))`
}
