import { useQuery } from '@tanstack/react-query'
import { readAccount } from 'portal-client'
import { Link } from 'wouter'
import { client } from '../../kit/client.ts'
import { t } from '../../kit/i18n.ts'
import { usePermission, useSession } from '../../kit/session.tsx'

/** The email of an account, as a link to it. Its id for operators who cannot read accounts. */
export function AccountLink({ id }: { id: string | null }) {
  const canRead = usePermission('account:read')
  if (id === null) return t('records.nobody')
  return canRead ? (
    <Link href={`/accounts/${id}`}>
      <AccountName id={id} />
    </Link>
  ) : (
    <AccountName id={id} />
  )
}

/** The email of an account, or its id. */
export function AccountName({ id }: { id: string }) {
  const canRead = usePermission('account:read')
  const { accountId } = useSession()
  const { data } = useQuery({
    queryKey: ['account', id],
    queryFn: () => client.call(readAccount, { params: { account_id: id } }),
    enabled: canRead,
    staleTime: 300_000,
  })
  const name = data?.accountEmail ?? <code>{id}</code>
  return id === accountId ? (
    <>
      {name} {t('records.you')}
    </>
  ) : (
    name
  )
}

/** The id of a workspace, as a link to it. */
export function WorkspaceLink({ id }: { id: string | null }) {
  const canRead = usePermission('workspace:read')
  if (id === null) return t('records.nobody')
  const name = <code>{id}</code>
  return canRead ? <Link href={`/workspaces/${id}`}>{name}</Link> : name
}
