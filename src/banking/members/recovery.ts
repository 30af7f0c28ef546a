import type { Tx } from '../../database/index.ts'
import { type AccountId, addMs, type Instant, minutes } from '../../kernel/index.ts'
import type { MembershipId } from './membership-store.ts'
import {
  type FoundMember,
  grantsAround,
  type MembershipGrant,
  membersAmong,
  revokeGrants,
  type Suspicion,
  storeSuspicions,
  suspendMembership,
} from './recovery-store.ts'
import { mayActAsOwner } from './rules.ts'
import { activeOwners } from './store.ts'

/** A request can arrive before a grant and use it. Longer than any request waits for its body. */
const requestMs = minutes(5)

/**
 * Suspends the members whose role an account has given since an instant, and those to whom they have given one in turn.
 * Never suspends the account itself or the last owners of a workspace. Other domains read the stored suspicions, so
 * their hooks must follow this one. Returns the accounts of the members.
 */
export async function suspendBroughtIn(
  tx: Tx,
  { accountId, since, at }: { accountId: AccountId; since: Instant; at: Instant },
): Promise<AccountId[]> {
  const suspended: AccountId[] = []
  for (;;) {
    const { grantIds, suspicions, members } = descentOf(accountId, await grantsAround(tx, { accountId, since }))
    const found = await withoutLastOwners(tx, await membersAmong(tx, members))
    if (found.length === 0) {
      await revokeGrants(tx, grantIds, at)
      const own = { workspaceId: null, accountId, from: since, until: null }
      await storeSuspicions(tx, { accountId, at }, [own, ...suspicions])
      return suspended
    }
    for (const member of found) await suspendMembership(tx, member, at)
    suspended.push(...found.map((member) => member.accountId))
    // A member who was just suspended can have added another one until its row was locked.
  }
}

interface Descent {
  /** Grants of the account, and grants of members who hold its permissions. */
  grantIds: string[]
  suspicions: Suspicion[]
  /** Whose role is from the account. Some of them have left. */
  members: MembershipId[]
}

/**
 * Follows the grants of an account in their order. A member stops being suspect when somebody who is not suspect gives
 * the member a role, unless that grant was revoked.
 */
function descentOf(account: AccountId, grants: readonly MembershipGrant[]): Descent {
  const grantIds: string[] = []
  const suspicions: Suspicion[] = []
  const open = { role: new Map<string, Suspicion>(), member: new Map<string, Suspicion & MembershipId>() }
  for (const { id, workspaceId, grantorId, granteeId, at, byRole, isRevoked } of grants) {
    const [from, to] = [`${workspaceId} ${grantorId}`, `${workspaceId} ${granteeId}`]
    if (grantorId === account || open.role.has(from) || open.member.has(from)) {
      grantIds.push(id)
      const found = { workspaceId, accountId: granteeId, from: addMs(at, -requestMs), until: null }
      const known = byRole ? open.role : open.member
      if (granteeId === account || known.has(to)) continue
      suspicions.push(found)
      known.set(to, found)
    } else if (!byRole && !isRevoked) {
      for (const known of [open.role, open.member]) {
        const ended = known.get(to)
        if (ended) ended.until = at
        known.delete(to)
      }
    }
  }
  return { grantIds, suspicions, members: [...open.member.values()] }
}

/** Without them, nobody could run the workspace. Operators can freeze it. */
async function withoutLastOwners(tx: Tx, members: readonly FoundMember[]): Promise<MembershipId[]> {
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
