import { useQuery } from '@tanstack/react-query'
import { type Account, listWorkspaces, readAccount } from 'portal-client'
import { Link } from 'wouter'
import { client } from '../../../kit/client.ts'
import { t } from '../../../kit/i18n.ts'
import { usePermission, useSession } from '../../../kit/session.tsx'

/** Who acted. Null for the gateway itself. */
export function Person({ id }: { id: string | null }) {
  const { accountId } = useSession()
  const account = useAccount(id)
  if (id === null) return t('queues.gateway')
  const name = account?.accountEmail ?? id
  return (
    <>
      <Link href={`/accounts/${id}`}>{name}</Link>
      {id === accountId && ` (${t('queues.you')})`}
    </>
  )
}

/** Undefined while it loads, and for operators who may not read accounts. */
export function useAccount(id: string | null): Account | undefined {
  const mayRead = usePermission('account:read')
  const { data } = useQuery({
    queryKey: ['account', id],
    queryFn: () => (id === null ? null : client.call(readAccount, { params: { account_id: id } })),
    enabled: mayRead && id !== null,
  })
  return data ?? undefined
}

/** By its name, or by its id if it is not among the newest 100 workspaces. */
export function WorkspaceLink({ id }: { id: string }) {
  const mayRead = usePermission('workspace:read')
  const { data } = useQuery({
    queryKey: ['workspaces', 'names'],
    queryFn: () => client.call(listWorkspaces, { query: { pageSize: 100, before: 'start' } }),
    enabled: mayRead,
  })
  const name = data?.items.find(({ bizId }) => bizId === id)?.workspaceName
  return mayRead ? <Link href={`/workspaces/${id}`}>{name ?? id}</Link> : id
}
