import { listWorkspaces, type Workspace } from 'portal-client'
import { Link, useSearchParams } from 'wouter'
import { client } from '../../kit/client.ts'
import { t } from '../../kit/i18n.ts'
import { ListQuery, Table } from '../../kit/list.tsx'
import { Page } from '../../kit/page.tsx'
import { Time } from '../../kit/time.tsx'
import { ExportRows } from '../records/export-rows.tsx'
import { Filters, oneOf } from '../records/filters.tsx'
import { ActiveBadge } from './status.tsx'

const statuses = ['ACTIVE', 'FROZEN'] as const
const kinds = ['LIVE', 'SANDBOX'] as const

/** The workspaces of all customers. */
export default function Workspaces() {
  const [search] = useSearchParams()
  const query = {
    workspaceStatus: oneOf(statuses, search.get('status')),
    workspaceKind: oneOf(kinds, search.get('kind')),
    workspaceName: search.get('name') ?? undefined,
  }
  return (
    <Page title={t('workspaces.title')}>
      <Filters label={t('workspaces.filters')} filters={filters} />
      <ListQuery
        queryKey={['workspaces', query]}
        read={(before) => client.call(listWorkspaces, { query: { ...query, before } })}
        empty={t('workspaces.empty')}
      >
        {(workspaces) => (
          <>
            <Table
              label={t('workspaces.title')}
              items={workspaces}
              keyOf={({ bizId }) => bizId}
              columns={[
                {
                  title: t('workspaces.name'),
                  cell: ({ bizId, workspaceName }) => <Link href={`/workspaces/${bizId}`}>{workspaceName}</Link>,
                },
                { title: t('workspaces.kind'), cell: ({ workspaceKind }) => workspaceKind.label },
                {
                  title: t('workspaces.status'),
                  cell: ({ workspaceStatus }) => <ActiveBadge status={workspaceStatus} />,
                },
                { title: t('workspaces.timezone'), cell: ({ workspaceTimezone }) => workspaceTimezone },
                { title: t('records.created'), cell: ({ createdAt }) => <Time at={createdAt} /> },
              ]}
            />
            <ExportRows name="workspaces" header={header} rows={() => workspaces.map(rowOf)} />
          </>
        )}
      </ListQuery>
    </Page>
  )
}

const filters = [
  { name: 'name', label: t('workspaces.name') },
  {
    name: 'status',
    label: t('workspaces.status'),
    options: statuses.map((value) => ({ value, label: t(`workspaces.status_${value}`) })),
  },
  {
    name: 'kind',
    label: t('workspaces.kind'),
    options: kinds.map((value) => ({ value, label: t(`workspaces.kind_${value}`) })),
  },
]

const header = ['bizId', 'workspaceName', 'workspaceKind', 'workspaceStatus', 'workspaceTimezone', 'createdAt']

function rowOf({ bizId, workspaceName, workspaceKind, workspaceStatus, workspaceTimezone, createdAt }: Workspace) {
  return [bizId, workspaceName, workspaceKind.code, workspaceStatus.code, workspaceTimezone, createdAt]
}
