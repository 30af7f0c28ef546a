import { type Database, inTransaction } from '../../database/index.ts'
import { type AccountId, notFound, type Page, type WorkspaceId } from '../../kernel/index.ts'
import { type Act, recordAct } from '../../platform/audit/index.ts'
import { listMembers, type MemberQuery, type MemberRow, memberIn } from './member-list-store.ts'
import type { Members } from './members.ts'
import { type PolicyConfig, setPolicy } from './policy-store.ts'
import { mayBeDefault } from './rules.ts'
import { workspaceById } from './store.ts'

export interface Limiting {
  accountId: AccountId
  policyConfig: PolicyConfig | null
  reason: string
}

export const createMemberService = (database: Database, members: Members) => ({
  list: (query: MemberQuery): Promise<Page<MemberRow>> => listMembers(database, query),

  /** The members of a workspace that the caller need not belong to. */
  listOf: async (query: MemberQuery): Promise<Page<MemberRow>> => {
    if (!(await workspaceById(database, query.workspaceId))) throw notFound('no such workspace')
    return listMembers(database, query)
  },

  limit: (act: Act, workspaceId: WorkspaceId, { accountId, policyConfig, reason }: Limiting): Promise<MemberRow> =>
    inTransaction(database, async (tx) => {
      await members.hold(tx, workspaceId)
      // A limit that its subject or a fellow owner could lift would be none.
      await members.demandOutsider(tx, act.accountId, workspaceId)
      const member = await members.find(tx, accountId, workspaceId)
      if (!member) throw notFound('no such member of this workspace')
      await setPolicy(tx, member, policyConfig, mayBeDefault(policyConfig), act.at)
      const detail = { reason, policyConfig: policyConfig && JSON.stringify(policyConfig) }
      await recordAct(tx, act, { workspaceId, targetId: accountId, detail })
      return memberIn(tx, workspaceId, accountId)
    }),
})

export type MemberService = ReturnType<typeof createMemberService>
