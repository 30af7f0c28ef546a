import { type Database, inTransaction } from '../../database/index.ts'
import { type AccountId, invalid, Refusal } from '../../kernel/index.ts'
import { type Act, recordAct } from '../../platform/audit/index.ts'
import { type ProfileChanges, type ProfileRow, profileOf, updateProfile } from './store.ts'

const present = (row: ProfileRow | undefined): ProfileRow => {
  if (!row) throw new Refusal('ACCESS.TOKEN_INVALID', { internal: 'the account is gone' })
  return row
}

export const createService = (database: Database, isCountry: (alpha2: string) => boolean) => ({
  read: async (id: AccountId): Promise<ProfileRow> => present(await profileOf(database, id)),

  update: async (act: Act, changes: ProfileChanges): Promise<ProfileRow> => {
    if (changes.country !== undefined && !isCountry(changes.country)) throw invalid('defaultCountry')
    return inTransaction(database, async (tx) => {
      const changed = present(await updateProfile(tx, act.accountId, changes, act.at))
      await recordAct(tx, act, { workspaceId: null, targetId: act.accountId })
      return changed
    })
  },
})

export type ProfileService = ReturnType<typeof createService>
