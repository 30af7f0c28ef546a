import { v5 } from 'uuid'
import { freezeReply, type Locale, type Words } from '../../kernel/index.ts'

/** A row of the permission table. */
export interface PermissionRow {
  code: string
  group: string
  sortOrder: number
}

export interface PermissionNode {
  bizId: string
  permissionCode: string
  permissionName: string
  permissionDescription: string
  parentBizId: string | null
  permissionGroup: string
  portalVisibility: string
  sortOrder: number
  isEnabled: boolean
  children: PermissionNode[]
}

/** Permissions are no rows of ours; their ids are derived from their codes (RFC 9562, UUIDv5), the same everywhere. */
const namespace = '6f0c5f0e-3f0b-4a38-9d3a-0d1f9c1b7a52'
const idOf = (code: string): string => v5(code, namespace)

const treeIn = (table: readonly PermissionRow[], words: Words, locale: Locale): PermissionNode[] => {
  const roots = new Map<string, PermissionNode>()
  for (const { code, group, sortOrder } of table) {
    const root = roots.get(group)
    const node: PermissionNode = {
      bizId: idOf(code),
      permissionCode: code,
      permissionName: words.text(`permission.${code}.name`, locale),
      permissionDescription: words.text(`permission.${code}.description`, locale),
      parentBizId: root?.bizId ?? null,
      permissionGroup: group,
      portalVisibility: 'CONSUMER',
      sortOrder,
      isEnabled: true,
      children: [],
    }
    if (root) root.children.push(node)
    else roots.set(group, node)
  }
  return [...roots.values()]
}

/**
 * The permission table as the tree of interface.md 2.13, made once per language. A group's first right, mostly to
 * read, is the parent of its others: every node is a right that a role can hold.
 */
export const permissionTrees = (table: readonly PermissionRow[], words: Words) => {
  const trees = new Map<Locale, PermissionNode[]>()
  return (locale: Locale): PermissionNode[] => {
    const tree = trees.get(locale) ?? freezeReply(treeIn(table, words, locale))
    trees.set(locale, tree)
    return tree
  }
}
