import type { ProfileRow } from '../../contract/shared-schemas.ts'
import type { Database, Tx } from '../../database/index.ts'
import { type AccountId, type Instant, toDate } from '../../kernel/index.ts'

const columns = [
  'bizId as id',
  'institutionBizId as institutionId',
  'email',
  'phone',
  'accountName as name',
  'remark',
  'portal',
  'accountStatus as status',
  'createdAt',
  'updatedAt',
  'defaultLanguage as language',
  'defaultTimezone as timezone',
  'defaultCountry as country',
] as const

export function profileById(database: Database | Tx, id: AccountId): Promise<ProfileRow | undefined> {
  return database.selectFrom('accounts').select(columns).where('bizId', '=', id).executeTakeFirst()
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
      updatedAt: toDate(at),
      ...(name !== undefined && { accountName: name }),
      ...(phone !== undefined && { phone }),
      ...(language !== undefined && { defaultLanguage: language }),
      ...(timezone !== undefined && { defaultTimezone: timezone }),
      ...(country !== undefined && { defaultCountry: country }),
    })
    .where('bizId', '=', id)
    .returning(columns)
    .executeTakeFirst()
}
