import type { Tx } from '../../database/index.ts'
import type { AccountId, Instant } from '../../kernel/index.ts'
import type { MembershipId } from './membership-store.ts'
import { membersBroughtInBy, suspendMembership } from './recovery-store.ts'
import { mayActAsOwner } from './rules.ts'
import { activeOwners } from './store.ts'

type BroughtIn = Awaited<ReturnType<typeof membersBroughtInBy>>

/** Without them, nobody could run the workspace. Operators can freeze it. */
const withoutLastOwners = async (tx: Tx, members: BroughtIn): Promise<MembershipId[]> => {
  const remaining: MembershipId[] = []
  for (const [workspaceId, found] of Map.groupBy(members, (member) => member.workspaceId)) {
    const owners = new Set(found.filter(({ roleType }) => roleType === 'OWNER').map(({ accountId }) => accountId))
    const isRunByOthers = async () =>
      (await activeOwners(tx, workspaceId)).some(
        ({ accountId, policyConfig }) => !owners.has(accountId) && mayActAsOwner(policyConfig),
      )
    const keepsOwners = owners.size > 0 && !(await isRunByOthers())
    remaining.push(...found.filter(({ accountId }) => !keepsOwners || !owners.has(accountId)))
  }
  return remaining
}

/**
 * Suspends the members whom an account has brought in since an instant, and those whom they have brought in. Never
 * suspends the account itself or the last owners of a workspace. Returns the accounts of the members.
 */
export const suspendBroughtIn = async (
  tx: Tx,
  { at, ...recovered }: { accountId: AccountId; since: Instant; at: Instant },
): Promise<AccountId[]> => {
  const suspended: AccountId[] = []
  for (;;) {
    const found = await withoutLastOwners(tx, await membersBroughtInBy(tx, recovered))
    if (found.length === 0) return suspended
    for (const member of found) await suspendMembership(tx, member, at)
    suspended.push(...found.map(({ accountId }) => accountId))
    // A member who was just suspended can have added another one until its row was locked.
  }
}
