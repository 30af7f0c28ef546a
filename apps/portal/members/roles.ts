import { useQuery } from '@tanstack/react-query'
import { listRoles, type Role } from 'portal-client'
import { client } from '../../kit/client.ts'
import { usePermission, useSession } from '../../kit/session.tsx'
import { useWorkspace } from '../workspace.tsx'

/** The roles of the workspace. Empty until they are known, and without the permission to read them. */
export function useRoles(): readonly Role[] {
  const { workspaceBizId: workspaceId } = useWorkspace().workspace
  const { data } = useQuery({
    queryKey: ['roles', workspaceId],
    queryFn: () => client.call(listRoles, { workspaceId }),
    enabled: usePermission('role:read'),
  })
  return data ?? []
}

/** The roles that the user can give: those of owners as an owner, others with permissions that the user has. */
export function useGrantableRoles(): readonly Role[] {
  const { isOwner } = useWorkspace().workspace
  const { permissions } = useSession()
  return useRoles().filter(({ roleType, permissionCodes }) =>
    roleType.code === 'OWNER' ? isOwner : permissionCodes.every((code) => permissions.has(code)),
  )
}
