import type { ProfileRow } from '../../contract/shared-schemas.ts'
import type { Database, Tx } from '../../database/index.ts'
import { type AccountId, type Instant, toDate } from '../../kernel/index.ts'

const columns = [
  'biz_id as id',
  'institution_biz_id as institutionId',
  'email',
  'phone',
  'account_name as name',
  'remark',
  'portal',
  'account_status as status',
  'created_at as createdAt',
  'updated_at as updatedAt',
  'default_language as language',
  'default_timezone as timezone',
  'default_country as country',
] as const

export function profileById(database: Database, id: AccountId): Promise<ProfileRow | undefined> {
  return database.selectFrom('accounts').select(columns).where('biz_id', '=', id).executeTakeFirst()
}

/** An undefined field is not changed. */
export interface ProfileChanges {
  name: string | undefined
  phone: string | undefined
  language: string | undefined
  timezone: string | undefined
  country: string | undefined
}

export function updateProfile(
  tx: Tx,
  id: AccountId,
  { name, phone, language, timezone, country }: ProfileChanges,
  at: Instant,
): Promise<ProfileRow | undefined> {
  return tx
    .updateTable('accounts')
    .set({
      updated_at: toDate(at),
      ...(name !== undefined && { account_name: name }),
      ...(phone !== undefined && { phone }),
      ...(language !== undefined && { default_language: language }),
      ...(timezone !== undefined && { default_timezone: timezone }),
      ...(country !== undefined && { default_country: country }),
    })
    .where('biz_id', '=', id)
    .returning(columns)
    .executeTakeFirst()
}
