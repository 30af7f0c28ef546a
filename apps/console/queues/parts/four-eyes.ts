import { useQuery } from '@tanstack/react-query'
import { listMembersOf, readProfile } from 'portal-client'
import { client } from '../../../kit/client.ts'
import { permissionName, t } from '../../../kit/i18n.ts'
import { usePermission, useSession } from '../../../kit/session.tsx'
import { useAccount } from './people.tsx'

/** Why the signed-in operator may not take a decision. */
export interface Objection {
  text: string
  /** False if only the gateway knows whether the rule applies. */
  isCertain: boolean
}

export interface Duty {
  permission: string
  /** Of the account that made the request. Null if it is not known. */
  creatorId: string | null
  /** Null for decisions that concern no workspace. */
  workspaceId: string | null
  /** The operators who took earlier decisions. */
  earlierActorIds?: readonly (string | null)[]
}

/**
 * The rules of `docs/guides/operators.md` that a page can check. Two accounts with one email address belong to one person.
 * The gateway checks all rules again.
 */
export function useObjections({ permission, creatorId, workspaceId, earlierActorIds = [] }: Duty): Objection[] {
  const { accountId, permissions } = useSession()
  const email = useOwnEmail()
  const creator = useAccount(creatorId)
  const isMember = useIsMember(workspaceId, email)
  const isCreator = creatorId === accountId || (email !== undefined && creator?.accountEmail.toLowerCase() === email)
  const rules: [boolean, Objection][] = [
    [
      !permissions.has(permission),
      { text: t('records.needsPermission', { permission: permissionName(permission) }), isCertain: true },
    ],
    [isCreator, { text: t('queues.ownRequest'), isCertain: true }],
    [isMember, { text: t('queues.ownWorkspace'), isCertain: true }],
    [earlierActorIds.includes(accountId), { text: t('queues.earlierDecision'), isCertain: false }],
  ]
  return rules.flatMap(([applies, objection]) => (applies ? [objection] : []))
}

interface DecidedOrder {
  workspaceBizId: string
  workspaceStatus: { code: string }
  creatorStatus: { code: string } | null
  statusHistory: readonly { actorBizId: string | null }[]
}

/** The duty of a decision on an order. */
export function dutyOf({ workspaceBizId, statusHistory }: DecidedOrder, permission: string): Duty {
  const [created, ...later] = statusHistory.map(({ actorBizId }) => actorBizId)
  return { permission, creatorId: created ?? null, workspaceId: workspaceBizId, earlierActorIds: later }
}

/** A frozen workspace and a suspended creator prevent decisions that move money. */
export function frozenObjections({ workspaceStatus, creatorStatus }: DecidedOrder): Objection[] {
  const rules: [boolean, string][] = [
    [workspaceStatus.code !== 'ACTIVE', 'queues.workspaceFrozen'],
    [creatorStatus !== null && creatorStatus.code !== 'ACTIVE', 'queues.creatorNotActive'],
  ]
  return rules.flatMap(([applies, key]) => (applies ? [{ text: t(key), isCertain: true }] : []))
}

/** In lower case. */
function useOwnEmail(): string | undefined {
  const { data } = useQuery({ queryKey: ['profile'], queryFn: () => client.call(readProfile) })
  return data?.accountEmail.toLowerCase()
}

function useIsMember(workspaceId: string | null, email: string | undefined): boolean {
  const mayRead = usePermission('workspace:read')
  const { data } = useQuery({
    queryKey: ['members-of', workspaceId],
    queryFn: () =>
      workspaceId === null
        ? null
        : client.call(listMembersOf, { params: { workspace_id: workspaceId }, query: { pageSize: 100 } }),
    enabled: mayRead && workspaceId !== null,
  })
  return data?.items.some(({ accountEmail }) => accountEmail.toLowerCase() === email) ?? false
}
