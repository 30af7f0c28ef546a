/**
 * Every right that exists. A workspace's roles hold the first table's, which is the permission tree of
 * interface.md 2.13; accounts of the SYSTEM portal hold the second's. Names and descriptions stand in
 * config/locales under `permission.<code>`.
 */
const workspaceRights = {
  workspace: ['read', 'update'],
  member: ['read', 'manage'],
  role: ['read', 'manage'],
  invitation: ['read', 'manage'],
  'api-key': ['read', 'manage'],
  wallet: ['read'],
  transfer: ['read', 'create'],
  exchange: ['read', 'create'],
  recharge: ['read', 'create'],
  withdrawal: ['read', 'create'],
  'withdrawal-channel': ['read', 'manage'],
  file: ['read', 'upload'],
  export: ['read', 'create'],
  sandbox: ['reset'],
} as const

const operatorRights = {
  account: ['read', 'approve', 'suspend'],
  session: ['terminate'],
  workspace: ['read', 'freeze'],
  member: ['limit'],
  recharge: ['read', 'approve'],
  transfer: ['read', 'approve'],
  withdrawal: ['read', 'approve', 'settle'],
  'withdrawal-channel': ['read', 'verify'],
  wallet: ['freeze', 'close'],
  'exchange-rate': ['read', 'manage'],
  ledger: ['read'],
  audit: ['read'],
} as const

type Rights = Record<string, readonly string[]>
type CodesOf<R extends Rights> = { [G in keyof R & string]: `${G}:${R[G][number]}` }[keyof R & string]

export type WorkspacePermission = CodesOf<typeof workspaceRights>
export type OperatorPermission = CodesOf<typeof operatorRights>

export interface PermissionRow<P extends string> {
  code: P
  group: string
  action: string
  sortOrder: number
}

const rows = <R extends Rights>(rights: R): PermissionRow<CodesOf<R>>[] =>
  Object.entries(rights).flatMap(([group, actions], place) =>
    actions.map((action, step) => ({
      code: `${group}:${action}` as CodesOf<R>,
      group,
      action,
      sortOrder: (place + 1) * 100 + step,
    })),
  )

export const permissionTable: {
  readonly workspace: readonly PermissionRow<WorkspacePermission>[]
  readonly operator: readonly PermissionRow<OperatorPermission>[]
} = { workspace: rows(workspaceRights), operator: rows(operatorRights) }

export const workspacePermissions: readonly WorkspacePermission[] = permissionTable.workspace.map((row) => row.code)
export const operatorPermissions: readonly OperatorPermission[] = permissionTable.operator.map((row) => row.code)

/** What changes who may do what stays with people. */
const peopleOnly: ReadonlySet<WorkspacePermission> = new Set([
  'workspace:update',
  'member:manage',
  'role:manage',
  'invitation:manage',
  'api-key:manage',
  'withdrawal-channel:manage',
  'sandbox:reset',
])

/** What an API key may hold. */
export const apiKeyPermissions: readonly WorkspacePermission[] = workspacePermissions.filter(
  (code) => !peopleOnly.has(code),
)
