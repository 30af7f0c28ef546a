import type { Tx } from '../../database/index.ts'
import type { Instant } from '../../kernel/index.ts'
import type { Account } from '../accounts/store.ts'
import type { ProviderPorts } from './ports.ts'
import { refused, type VerifiedIdentity } from './protocol/exchange.ts'
import type { ProviderSettings } from './settings.ts'
import { isProvisioned } from './store.ts'

/**
 * Removes permissions without a group, and proposes new ones. Throws AUTH.PROVIDER_REFUSED if the token only refers to
 * the groups, because there are too many: missing groups would revoke permissions.
 */
export async function applyGroups(
  { applyProviderRights, permissionsOfRole }: Pick<ProviderPorts, 'applyProviderRights' | 'permissionsOfRole'>,
  tx: Tx,
  { id, groups, claims: names }: Pick<ProviderSettings, 'id' | 'groups' | 'claims'>,
  account: Pick<Account, 'id' | 'portal'>,
  { claims }: Pick<VerifiedIdentity, 'claims'>,
  at: Instant,
): Promise<void> {
  // SCIM keeps the groups of the people that it provisions.
  if (groups === null || (await isProvisioned(tx, account, id))) return
  const elsewhere = claims._claim_names
  if (typeof elsewhere === 'object' && elsewhere !== null && names.groups in elsewhere)
    throw refused('the token refers to the groups; send only the groups of the application')
  const claimed = claims[names.groups]
  const list: unknown[] = Array.isArray(claimed) ? claimed : [claimed]
  const roles = list.flatMap((group) => (typeof group === 'string' ? (groups.get(group) ?? []) : []))
  const to = new Set(roles.flatMap(permissionsOfRole))
  const reason = `Groups at the identity provider ${id}`
  await applyProviderRights(tx, { accountId: account.id, to: [...to], reason, at })
}
