import { type RawBuilder, sql } from 'kysely'
import { type Database, type Param, run, type Statements, statement, type Tx } from '../../database/index.ts'
import {
  type AccountId,
  type AccountStatus,
  canonicalEmail,
  type Instant,
  type Permission,
  type Portal,
  toDate,
} from '../../kernel/index.ts'
import { recordAs } from '../../platform/events/index.ts'

export interface Account {
  id: AccountId
  portal: Portal
  status: AccountStatus
  email: string
  emailCanonical: string
  emailVerifiedAt: Instant | null
  name: string
  /** Language of emails without a request. */
  language: string
  passwordHash: string | null
  maxSessions: number
  ipWhitelistEnabled: boolean
  operatorPermissions: Permission[]
  /** The identity providers to which it is linked. */
  providerIds: string[]
}

/** An account to insert. `passwordHash` is null until the owner sets a password. */
export interface NewAccount {
  id: AccountId
  portal: Portal
  institutionId: string
  status: AccountStatus
  email: string
  emailVerifiedAt: Instant | null
  name: string
  phone: string
  passwordHash: string | null
  language: string
  timezone: string
  country: string
  maxSessions: number
  operatorPermissions: Permission[]
}

const columns = [
  'bizId as id',
  'portal',
  'accountStatus as status',
  'email',
  'emailCanonical',
  'emailVerifiedAt',
  'accountName as name',
  'defaultLanguage as language',
  'passwordHash',
  'maxSessions',
  'ipWhitelistEnabled',
  'operatorPermissions',
] as const

type Store = Database | Tx

const findByEmail = statement((store, param: Param<{ portal: Portal; email: string }>) =>
  selectAccount(store, param('portal')).where('emailCanonical', '=', param('email')),
)
const findById = statement((store, param: Param<{ portal: Portal; id: AccountId }>) =>
  selectAccount(store, param('portal')).where('bizId', '=', param('id')),
)
const lockById = statement((store, param: Param<{ portal: Portal; id: AccountId }>) =>
  selectAccount(store, param('portal')).where('bizId', '=', param('id')).forNoKeyUpdate(),
)

export function accountWithEmail(portal: Portal, email: string): Statements<Account | undefined> {
  return findByEmail.with({ portal, email: canonicalEmail(email) }).first()
}

export function accountByEmail(store: Store, portal: Portal, email: string): Promise<Account | undefined> {
  return run(store, accountWithEmail(portal, email))
}

export function accountById(store: Store, portal: Portal, id: AccountId): Promise<Account | undefined> {
  return findById.first(store, { portal, id })
}

/** The id of an account identifies its portal, too. */
export async function emailOfAccount(store: Store, id: AccountId): Promise<string | undefined> {
  return (await store.selectFrom('accounts').select('email').where('bizId', '=', id).executeTakeFirst())?.email
}

/** Returns the account as a change recorded it. */
export function accountOfRecord(tx: Tx, record: unknown) {
  return tx
    .selectFrom(recordAs('accounts', record, 'a'))
    .select([
      ...(['bizId as id', 'portal', 'institutionBizId as institutionId', 'accountStatus as status', 'email'] as const),
      ...(['phone', 'accountName as name', 'remark', 'defaultLanguage as language'] as const),
      ...(['defaultTimezone as timezone', 'defaultCountry as country', 'lastLoginAt'] as const),
      ...(['operatorPermissions as permissions', 'createdAt', 'updatedAt'] as const),
    ])
    .executeTakeFirstOrThrow()
}

/** The id of the account that is signing in, as SQL. */
export function accountIdOfAttempt(
  portal: Portal | RawBuilder<Portal>,
  digest: Uint8Array | RawBuilder<Uint8Array>,
): RawBuilder<AccountId> {
  return sql`(SELECT account_biz_id FROM login_sessions WHERE portal = ${portal} AND token_digest = ${digest})`
}

const findByAttempt = statement((store, param: Param<{ portal: Portal; digest: Uint8Array }>) =>
  selectAccount(store, param('portal')).where('bizId', '=', accountIdOfAttempt(param('portal'), param('digest'))),
)

/** The account that is signing in. */
export function accountOfAttempt(portal: Portal, digest: Uint8Array): Statements<Account | undefined> {
  return findByAttempt.with({ portal, digest }).first()
}

const findByPasskey = statement((store, param: Param<{ portal: Portal; credentialId: Uint8Array }>) =>
  selectAccount(store, param('portal')).where(
    'bizId',
    '=',
    sql<AccountId>`(SELECT account_biz_id FROM passkeys
      WHERE portal = ${param('portal')} AND credential_id = ${param('credentialId')})`,
  ),
)

/** The owner of the passkey. */
export function accountOfPasskey(portal: Portal, credentialId: Uint8Array): Statements<Account | undefined> {
  return findByPasskey.with({ portal, credentialId }).first()
}

/** Serializes changes to the account's sessions and credentials. */
export function accountLocked(portal: Portal, id: AccountId): Statements<Account | undefined> {
  return lockById.with({ portal, id }).first()
}

export function lockAccount(tx: Tx, portal: Portal, id: AccountId): Promise<Account | undefined> {
  return run(tx, accountLocked(portal, id))
}

/** Returns false if the portal already has the address. */
export async function insertAccount(store: Store, account: NewAccount, at: Instant): Promise<boolean> {
  const now = toDate(at)
  const inserted = await store
    .insertInto('accounts')
    .values({
      bizId: account.id,
      portal: account.portal,
      institutionBizId: account.institutionId,
      accountStatus: account.status,
      email: account.email.trim(),
      emailCanonical: canonicalEmail(account.email),
      emailVerifiedAt: account.emailVerifiedAt === null ? null : toDate(account.emailVerifiedAt),
      phone: account.phone,
      accountName: account.name,
      passwordHash: account.passwordHash,
      passwordChangedAt: account.passwordHash === null ? null : now,
      defaultLanguage: account.language,
      defaultTimezone: account.timezone,
      defaultCountry: account.country,
      maxSessions: account.maxSessions,
      operatorPermissions: account.operatorPermissions,
      createdAt: now,
      updatedAt: now,
    })
    .onConflict((conflict) => conflict.columns(['portal', 'emailCanonical']).doNothing())
    .returning('bizId')
    .executeTakeFirst()
  return inserted !== undefined
}

/** Only for the development seed: operators of other institutions get permissions by proposals. */
export async function grantOperators(
  store: Store,
  { institutionId, permissions }: { institutionId: string; permissions: readonly Permission[] },
  at: Instant,
): Promise<void> {
  const granted = sql<Permission[]>`${[...permissions]}::text[]`
  await store
    .updateTable('accounts')
    .set({
      operatorPermissions: sql`ARRAY(SELECT DISTINCT unnest(operator_permissions || ${granted}) ORDER BY 1)`,
      updatedAt: toDate(at),
    })
    .where('portal', '=', 'SYSTEM')
    .where('institutionBizId', '=', institutionId)
    .where(sql<boolean>`NOT operator_permissions @> ${granted}`)
    .execute()
}

const updateLastLogin = statement(
  (store, param: Param<{ portal: Portal; id: AccountId; clientIp: string; now: Date }>) =>
    store
      .updateTable('accounts')
      .set({ lastLoginAt: param('now'), lastLoginIp: param('clientIp') })
      .where('portal', '=', param('portal'))
      .where('bizId', '=', param('id')),
)

export function recordLastLogin({ portal, id }: Account, clientIp: string, now: Instant): Statements<unknown> {
  return updateLastLogin.with({ portal, id, clientIp, now: toDate(now) })
}

function selectAccount(store: Store, portal: RawBuilder<Portal>) {
  const providerIds = sql<string[]>`ARRAY(SELECT provider_id FROM provider_identities
    WHERE provider_identities.portal = accounts.portal AND provider_identities.account_biz_id = accounts.biz_id)`
  return store
    .selectFrom('accounts')
    .select([...columns, providerIds.as('providerIds')])
    .where('portal', '=', portal)
}
