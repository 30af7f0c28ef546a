import { sql } from 'kysely'
import type { Tx } from '../../../database/index.ts'
import type { Permission, RoleType } from '../../../kernel/index.ts'
import { recordAs } from '../../../platform/events/index.ts'
import type { ShownMember } from '../store.ts'

/**
 * Returns the membership as a change recorded it, with the present names. A role that was deleted since has no name; it
 * was not OWNER, which nobody can delete.
 */
export function memberOfRecord(tx: Tx, record: unknown): Promise<ShownMember> {
  return tx
    .selectFrom(recordAs('memberships', record, 'm'))
    .innerJoin('workspaces as w', 'w.bizId', 'm.workspaceBizId')
    .innerJoin('accounts as a', 'a.bizId', 'm.accountBizId')
    .leftJoin('roles as r', (join) =>
      join.onRef('r.workspaceBizId', '=', 'm.workspaceBizId').onRef('r.bizId', '=', 'm.roleBizId'),
    )
    .select((eb) => [
      ...(['m.accountBizId as accountId', 'm.workspaceBizId as workspaceId', 'm.roleBizId as roleId'] as const),
      ...(['m.joinSource', 'm.isDefault', 'm.policyConfig', 'm.suspendedAt', 'm.createdAt', 'm.updatedAt'] as const),
      ...(['w.workspaceName', 'w.workspaceKind', 'w.workspaceStatus', 'w.institutionBizId as institutionId'] as const),
      ...(['a.accountName', 'a.email as accountEmail'] as const),
      eb.fn.coalesce('r.roleName', sql.lit('')).as('roleName'),
      eb.fn.coalesce('r.permissionCodes', sql<Permission[]>`'{}'::text[]`).as('permissionCodes'),
      eb.fn.coalesce('r.roleType', sql.lit<RoleType>('CUSTOM')).as('roleType'),
    ])
    .executeTakeFirstOrThrow()
}
