import { useQuery } from '@tanstack/react-query'
import { listRoles, listSuspendedPermissions, restoreRolePermissions, type SuspendedPermission } from 'portal-client'
import { Link } from 'wouter'
import { client } from '../../kit/client.ts'
import { Command } from '../../kit/command/command.tsx'
import { formatCount } from '../../kit/format.ts'
import { t } from '../../kit/i18n.ts'
import { Table } from '../../kit/list.tsx'
import { Page, Section } from '../../kit/page.tsx'
import { usePermission } from '../../kit/session.tsx'
import { Badge, QueryView } from '../../kit/states.tsx'
import { Lacking } from '../permissions/permissions.tsx'
import { PermissionList } from '../permissions/tree.tsx'
import { useWorkspace } from '../workspace.tsx'

/** The roles of the workspace, and the permissions that a recovery suspended. */
export default function Roles() {
  const { workspaceBizId: workspaceId } = useWorkspace().workspace
  const query = useQuery({ queryKey: ['roles', workspaceId], queryFn: () => client.call(listRoles, { workspaceId }) })
  return (
    <Page title={t('roles.title')} actions={<NewRole />}>
      <Lacking permission="role:manage" />
      <Suspended workspaceId={workspaceId} />
      <QueryView query={query}>
        {(roles) => (
          <Table
            label={t('roles.title')}
            items={roles}
            keyOf={({ bizId }) => bizId}
            columns={[
              {
                title: t('roles.name'),
                cell: ({ bizId, roleName, description }) => (
                  <>
                    <Link href={`/roles/${bizId}`}>{roleName}</Link>
                    {description !== '' && <p className="hint">{description}</p>}
                  </>
                ),
              },
              {
                title: t('roles.type'),
                cell: ({ roleType: { code, label } }) => (
                  <Badge tone={code === 'OWNER' ? 'good' : 'neutral'}>{label}</Badge>
                ),
              },
              {
                title: t('permissions.title'),
                align: 'end',
                cell: ({ permissionCodes }) => formatCount(permissionCodes.length),
              },
            ]}
          />
        )}
      </QueryView>
    </Page>
  )
}

function NewRole() {
  if (!usePermission('role:manage')) return null
  return (
    <Link href="/roles/new" className="button primary">
      {t('roles.create')}
    </Link>
  )
}

function Suspended({ workspaceId }: { workspaceId: string }) {
  const query = useQuery({
    queryKey: ['suspended-permissions', workspaceId],
    queryFn: () => client.call(listSuspendedPermissions, { workspaceId }),
  })
  return (
    <QueryView query={query}>
      {(roles) =>
        roles.length > 0 && (
          <Section title={t('roles.suspended')}>
            <p className="hint">{t('roles.suspendedHint')}</p>
            {roles.map((role) => (
              <SuspendedRole key={role.bizId} role={role} workspaceId={workspaceId} />
            ))}
          </Section>
        )
      }
    </QueryView>
  )
}

interface SuspendedProps {
  role: SuspendedPermission
  workspaceId: string
}

function SuspendedRole({ role: { bizId, roleName, permissionCodes }, workspaceId }: SuspendedProps) {
  const mayManage = usePermission('role:manage')
  return (
    <div className="roles-suspended">
      <Link href={`/roles/${bizId}`}>{roleName}</Link>
      <PermissionList codes={permissionCodes} />
      {mayManage && (
        <Command
          label={t('roles.restore')}
          subject={roleName}
          title={t('roles.restoreTitle', { name: roleName })}
          done={t('roles.restored', { name: roleName })}
          tone="primary"
          run={() => client.call(restoreRolePermissions, { workspaceId, body: { roleBizId: bizId } })}
        >
          <p>{t('roles.restoreEffect')}</p>
        </Command>
      )}
    </div>
  )
}
