import type { Database, Tx } from '../../database/index.ts'
import type { AccountId, RoleId, RoleType, WorkspaceId } from '../../kernel/index.ts'

/** An account of the CONSUMER portal. */
export interface Person {
  accountId: AccountId
  name: string
  isActive: boolean
  /** In canonical form; null if the address is not verified. */
  verifiedEmail: string | null
  language: string
}

const people = (store: Database | Tx) =>
  store
    .selectFrom('accounts')
    .select(['biz_id', 'account_name', 'account_status', 'email_canonical', 'email_verified_at', 'default_language'])
    .where('portal', '=', 'CONSUMER')

type Found = Awaited<ReturnType<ReturnType<typeof people>['executeTakeFirstOrThrow']>>

const personOf = (row: Found | undefined): Person | undefined =>
  row && {
    accountId: row.biz_id,
    name: row.account_name,
    isActive: row.account_status === 'ACTIVE',
    verifiedEmail: row.email_verified_at === null ? null : row.email_canonical,
    language: row.default_language,
  }

export const personById = async (store: Database | Tx, id: AccountId): Promise<Person | undefined> =>
  personOf(await people(store).where('biz_id', '=', id).executeTakeFirst())

export const personByEmail = async (store: Database | Tx, email: string): Promise<Person | undefined> =>
  personOf(await people(store).where('email_canonical', '=', email).executeTakeFirst())

/** A role that an invitation offers. */
export interface OfferedRole {
  id: RoleId
  name: string
  type: RoleType
  permissionCodes: string[]
}

export const roleIn = (tx: Tx, workspaceId: WorkspaceId, id: RoleId): Promise<OfferedRole | undefined> =>
  tx
    .selectFrom('roles')
    .select(['biz_id as id', 'role_name as name', 'role_type as type', 'permission_codes as permissionCodes'])
    .where('workspace_biz_id', '=', workspaceId)
    .where('biz_id', '=', id)
    .executeTakeFirst()
