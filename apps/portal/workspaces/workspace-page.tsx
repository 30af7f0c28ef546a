import { useQuery } from '@tanstack/react-query'
import { readCurrentWorkspace } from 'portal-client'
import { Link } from 'wouter'
import { client } from '../../kit/client.ts'
import { Facts } from '../../kit/facts.tsx'
import { t } from '../../kit/i18n.ts'
import { Table } from '../../kit/list.tsx'
import { Page, Section } from '../../kit/page.tsx'
import { usePermission } from '../../kit/session.tsx'
import { Badge, QueryView } from '../../kit/states.tsx'
import { Time } from '../../kit/time.tsx'
import { Lacking } from '../permissions/permissions.tsx'
import { useWorkspace } from '../workspace.tsx'
import { LeaveWorkspace, MakeDefault, ResetSandbox } from './commands.tsx'
import { Settings } from './settings.tsx'

/** The workspace with its settings, and the other ones of the user. */
export default function WorkspacePage() {
  const { workspace } = useWorkspace()
  return (
    <Page
      title={workspace.workspaceName}
      actions={
        <Link href="/workspaces/new" className="button">
          {t('workspaces.create')}
        </Link>
      }
    >
      <Membership />
      <Current />
      {workspace.workspaceKind.code === 'SANDBOX' && <ResetSandbox workspace={workspace} />}
      <Mine />
      <Section title={t('workspaces.leave')}>
        <p className="hint">{t(workspace.isOwner ? 'workspaces.leaveHintOwner' : 'workspaces.leaveHint')}</p>
        <div>
          <LeaveWorkspace workspace={workspace} />
        </div>
      </Section>
    </Page>
  )
}

function Membership() {
  const { workspaceKind, workspaceRoleName, joinSource, createdAt, isDefault } = useWorkspace().workspace
  return (
    <Facts
      facts={[
        [t('workspaces.role'), workspaceRoleName],
        [t('workspaces.joinSource'), joinSource.label],
        [t('workspaces.joined'), <Time key="joined" at={createdAt} />],
        [t('workspaces.kind'), <Kind key="kind" kind={workspaceKind} />],
        [t('workspaces.default'), t(isDefault ? 'workspaces.yes' : 'workspaces.no')],
      ]}
    />
  )
}

function Current() {
  const { workspaceBizId: workspaceId } = useWorkspace().workspace
  const mayRead = usePermission('workspace:read')
  const mayUpdate = usePermission('workspace:update')
  const query = useQuery({
    queryKey: ['workspace', workspaceId],
    queryFn: () => client.call(readCurrentWorkspace, { workspaceId }),
    enabled: mayRead,
  })
  return (
    <Section title={t('workspaces.settings')}>
      {mayRead ? (
        <QueryView query={query}>
          {(workspace) =>
            mayUpdate ? (
              <Settings key={workspace.updatedAt} workspace={workspace} />
            ) : (
              <>
                <Lacking permission="workspace:update" />
                <Facts
                  facts={[
                    [t('workspaces.name'), workspace.workspaceName],
                    [t('workspaces.timeZone'), workspace.workspaceTimezone],
                    [t('workspaces.status'), workspace.workspaceStatus.label],
                  ]}
                />
              </>
            )
          }
        </QueryView>
      ) : (
        <Lacking permission="workspace:read" />
      )}
    </Section>
  )
}

function Mine() {
  const { workspace, workspaces, choose } = useWorkspace()
  return (
    <Table
      label={t('workspaces.mine')}
      items={workspaces}
      keyOf={({ workspaceBizId }) => workspaceBizId}
      columns={[
        {
          title: t('workspaces.mine'),
          cell: ({ workspaceName, isDefault }) => (
            <span>
              {workspaceName} {isDefault && <Badge tone="good">{t('workspaces.default')}</Badge>}
            </span>
          ),
        },
        { title: t('workspaces.role'), cell: ({ workspaceRoleName }) => workspaceRoleName },
        { title: t('workspaces.kind'), cell: ({ workspaceKind }) => <Kind kind={workspaceKind} /> },
        {
          title: t('workspaces.actions'),
          cell: (each) => (
            <div className="form-actions">
              {each.workspaceBizId === workspace.workspaceBizId ? (
                <span className="hint">{t('workspaces.isOpen')}</span>
              ) : (
                <button
                  type="button"
                  aria-label={`${t('workspaces.open')}: ${each.workspaceName}`}
                  onClick={() => choose(each.workspaceBizId)}
                >
                  {t('workspaces.open')}
                </button>
              )}
              {!each.isDefault && <MakeDefault workspace={each} />}
            </div>
          ),
        },
      ]}
    />
  )
}

function Kind({ kind: { code, label } }: { kind: { code: 'LIVE' | 'SANDBOX'; label: string } }) {
  return code === 'SANDBOX' ? <Badge tone="waiting">{label}</Badge> : label
}
