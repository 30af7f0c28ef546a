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
  'biz_id as id',
  'portal',
  'account_status as status',
  'email',
  'email_canonical as emailCanonical',
  'email_verified_at as emailVerifiedAt',
  'account_name as name',
  'default_language as language',
  'password_hash as passwordHash',
  'max_sessions as maxSessions',
  'ip_whitelist_enabled as ipWhitelistEnabled',
  'operator_permissions as operatorPermissions',
] as const

type Store = Database | Tx

const findByEmail = statement((store, param: Param<{ portal: Portal; email: string }>) =>
  selectAccount(store, param('portal')).where('email_canonical', '=', param('email')),
)
const findById = statement((store, param: Param<{ portal: Portal; id: AccountId }>) =>
  selectAccount(store, param('portal')).where('biz_id', '=', param('id')),
)
const lockById = statement((store, param: Param<{ portal: Portal; id: AccountId }>) =>
  selectAccount(store, param('portal')).where('biz_id', '=', param('id')).forNoKeyUpdate(),
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

/** The id of the account that is signing in, as SQL. */
export function accountIdOfAttempt(
  portal: Portal | RawBuilder<Portal>,
  digest: Uint8Array | RawBuilder<Uint8Array>,
): RawBuilder<AccountId> {
  return sql`(SELECT account_biz_id FROM login_sessions WHERE portal = ${portal} AND token_digest = ${digest})`
}

const findByAttempt = statement((store, param: Param<{ portal: Portal; digest: Uint8Array }>) =>
  selectAccount(store, param('portal')).where('biz_id', '=', accountIdOfAttempt(param('portal'), param('digest'))),
)

/** The account that is signing in. */
export function accountOfAttempt(portal: Portal, digest: Uint8Array): Statements<Account | undefined> {
  return findByAttempt.with({ portal, digest }).first()
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
      biz_id: account.id,
      portal: account.portal,
      institution_biz_id: account.institutionId,
      account_status: account.status,
      email: account.email.trim(),
      email_canonical: canonicalEmail(account.email),
      email_verified_at: account.emailVerifiedAt === null ? null : toDate(account.emailVerifiedAt),
      phone: account.phone,
      account_name: account.name,
      password_hash: account.passwordHash,
      password_changed_at: account.passwordHash === null ? null : now,
      default_language: account.language,
      default_timezone: account.timezone,
      default_country: account.country,
      max_sessions: account.maxSessions,
      operator_permissions: account.operatorPermissions,
      created_at: now,
      updated_at: now,
    })
    .onConflict((conflict) => conflict.columns(['portal', 'email_canonical']).doNothing())
    .returning('biz_id')
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
      operator_permissions: sql`ARRAY(SELECT DISTINCT unnest(operator_permissions || ${granted}) ORDER BY 1)`,
      updated_at: toDate(at),
    })
    .where('portal', '=', 'SYSTEM')
    .where('institution_biz_id', '=', institutionId)
    .where(sql<boolean>`NOT operator_permissions @> ${granted}`)
    .execute()
}

const updateLastLogin = statement(
  (store, param: Param<{ portal: Portal; id: AccountId; clientIp: string; now: Date }>) =>
    store
      .updateTable('accounts')
      .set({ last_login_at: param('now'), last_login_ip: param('clientIp') })
      .where('portal', '=', param('portal'))
      .where('biz_id', '=', param('id')),
)

export function recordLastLogin({ portal, id }: Account, clientIp: string, now: Instant): Statements<unknown> {
  return updateLastLogin.with({ portal, id, clientIp, now: toDate(now) })
}

function selectAccount(store: Store, portal: RawBuilder<Portal>) {
  return store.selectFrom('accounts').select(columns).where('portal', '=', portal)
}
