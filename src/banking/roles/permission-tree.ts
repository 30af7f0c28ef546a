import { v5 } from 'uuid'
import type { PermissionRow } from '../../contract/permissions.ts'
import { freezeReply, type Locale, type Portal, type Words } from '../../kernel/index.ts'

export type TreeRow = Pick<PermissionRow, 'code' | 'group' | 'sortOrder'>

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

/** Namespace of the ids (UUIDv5, RFC 9562), which are computed because permissions are not stored. */
const namespace = '6f0c5f0e-3f0b-4a38-9d3a-0d1f9c1b7a52'

/** The first permission of a group is the parent of the others, so that every node is a permission. */
export class PermissionTrees {
  readonly #table: readonly TreeRow[]
  readonly #words: Words
  readonly #trees = new Map<string, PermissionNode[]>()

  constructor(table: readonly TreeRow[], words: Words) {
    this.#table = table
    this.#words = words
  }

  read(portal: Portal, locale: Locale): PermissionNode[] {
    const key = `${portal} ${locale}`
    const tree = this.#trees.get(key) ?? freezeReply(buildTree(this.#table, this.#words, portal, locale))
    this.#trees.set(key, tree)
    return tree
  }
}

function buildTree(table: readonly TreeRow[], words: Words, portal: Portal, locale: Locale): PermissionNode[] {
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
      portalVisibility: portal,
      sortOrder,
      isEnabled: true,
      children: [],
    }
    if (root) root.children.push(node)
    else roots.set(group, node)
  }
  return [...roots.values()]
}

function idOf(code: string): string {
  return v5(code, namespace)
}
