import { useQuery } from '@tanstack/react-query'
import { type ReadPermissionTreeNode, readPermissionTree } from 'portal-client'
import type { ReactNode } from 'react'
import { client } from '../../kit/client.ts'
import { permissionName, t } from '../../kit/i18n.ts'
import { usePermission } from '../../kit/session.tsx'
import { useWorkspace } from '../workspace.tsx'

/** A permission with those of its group below the first one. */
export interface PermissionNode {
  code: string
  name: string
  description: string | null
  children: readonly PermissionNode[]
}

/** Those of `codes` as a tree. A list, without the permission to read the tree. */
export function usePermissionNodes(codes: readonly string[]): readonly PermissionNode[] {
  const tree = useTree()
  if (!tree) return codes.map((code) => ({ code, name: permissionName(code), description: null, children: [] }))
  const wanted = new Set(codes)
  return tree.flatMap((node) => nodesIn(node, wanted))
}

/** Every permission that a role can have. Empty until it is known. */
export function useAllPermissions(): readonly string[] {
  return (useTree() ?? []).flatMap(codesIn)
}

/** Shows `children` to users with the permission, and the missing permission to the others. */
export function Permitted({ permission, children }: { permission: string; children: ReactNode }) {
  return usePermission(permission) ? children : <Lacking permission={permission} />
}

/** Says why something is not possible, unless the user has the permission. */
export function Lacking({ permission }: { permission: string }) {
  if (usePermission(permission)) return null
  return <p className="hint">{t('permissions.lacking', { name: permissionName(permission) })}</p>
}

function useTree(): readonly ReadPermissionTreeNode[] | undefined {
  const { workspaceBizId: workspaceId } = useWorkspace().workspace
  const { data } = useQuery({
    queryKey: ['permission-tree', workspaceId],
    queryFn: () => client.call(readPermissionTree, { workspaceId }),
    enabled: usePermission('role:read'),
  })
  return data
}

function nodesIn(node: ReadPermissionTreeNode, wanted: ReadonlySet<string>): PermissionNode[] {
  const { permissionCode: code, permissionName: name, permissionDescription: description } = node
  const children = node.children.flatMap((child) => nodesIn(child, wanted))
  return wanted.has(code) ? [{ code, name, description, children }] : children
}

function codesIn({ permissionCode, children }: ReadPermissionTreeNode): string[] {
  return [permissionCode, ...children.flatMap(codesIn)]
}
