import { useQuery } from '@tanstack/react-query'
import { listWorkspaces, type Workspace } from 'portal-client'
import type { ReactNode } from 'react'
import { client } from '../../kit/client.ts'
import { usePermission } from '../../kit/session.tsx'
import { TimeZone } from '../../kit/time.tsx'

interface Props {
  /** Null for records of no workspace. */
  id: string | null
  children: ReactNode
}

/** Shows the times in `children` in the time zone of a workspace, to operators who can read workspaces. */
export function WorkspaceZone({ id, children }: Props) {
  const mayRead = usePermission('workspace:read')
  const { data } = useQuery({
    queryKey: ['workspace', id],
    queryFn: () => (id === null ? null : findWorkspace(id)),
    enabled: mayRead && id !== null,
  })
  return <TimeZone zone={data?.workspaceTimezone}>{children}</TimeZone>
}

export async function findWorkspace(id: string): Promise<Workspace | null> {
  return (await client.call(listWorkspaces, { query: { workspaceId: id } })).items[0] ?? null
}
