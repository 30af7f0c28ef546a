import type { DomainPorts } from '../../api/domain.ts'
import type { ProfileRow } from '../../contract/shared-schemas.ts'
import type { Database } from '../../database/index.ts'
import { type AccountId, invalid, Refusal } from '../../kernel/index.ts'
import { type AuditContext, recordSuccess } from '../../platform/audit/index.ts'
import { type ProfileChanges, profileById, updateProfile as updateProfileRow } from './store.ts'

export interface ProfilePorts {
  database: Database
  transaction: DomainPorts['transaction']
  isCountry(alpha2: string): boolean
  parsePhone(text: string, alpha2: string): string | undefined
}

export async function readProfile({ database }: ProfilePorts, id: AccountId): Promise<ProfileRow> {
  return assertExists(await profileById(database, id))
}

export async function updateProfile(
  { transaction, isCountry, parsePhone }: ProfilePorts,
  changes: ProfileChanges,
  auditContext: AuditContext,
): Promise<ProfileRow> {
  if (changes.country !== undefined && !isCountry(changes.country)) throw invalid('defaultCountry')
  return transaction(async (tx) => {
    const known = assertExists(await profileById(tx, auditContext.accountId))
    // Forms send the whole profile. A number that was stored before as it was typed may belong to no country.
    const typed = changes.phone === known.phone ? undefined : changes.phone
    const phone = typed === undefined ? undefined : parsePhone(typed, changes.country ?? known.country)
    if (phone === undefined && typed !== undefined) throw invalid('accountPhone')
    const accepted = { ...changes, phone }
    const changed = assertExists(await updateProfileRow(tx, auditContext.accountId, accepted, auditContext.at))
    await recordSuccess(tx, auditContext, { workspaceId: null, targetId: auditContext.accountId })
    return changed
  })
}

function assertExists(row: ProfileRow | undefined): ProfileRow {
  if (!row) throw new Refusal('ACCESS.TOKEN_INVALID', { internal: 'the account no longer exists' })
  return row
}
