import { type AllApiKey, deleteAnyApiKey, disableAnyApiKey, enableAnyApiKey, listAllApiKeys } from 'portal-client'
import { useSearchParams } from 'wouter'
import { client } from '../../kit/client.ts'
import { t } from '../../kit/i18n.ts'
import { ListQuery } from '../../kit/list.tsx'
import { Page } from '../../kit/page.tsx'
import { useMissing } from '../records/command.tsx'
import { ExportRows } from '../records/export-rows.tsx'
import { Filters, oneOf } from '../records/filters.tsx'
import { WorkspaceLink } from '../records/links.tsx'
import { header, KeyCommands, KeyTable, rowOf, statuses } from './key-table.tsx'

/** The API keys of all workspaces. */
export default function WorkspaceKeys() {
  const [search] = useSearchParams()
  const query = {
    apiKeyStatus: oneOf(statuses, search.get('status')),
    keyPrefix: search.get('keyPrefix') ?? undefined,
    workspaceId: search.get('workspaceId') ?? undefined,
    createdBy: search.get('createdBy') ?? undefined,
  }
  return (
    <Page title={t('api-keys.title')}>
      <Filters label={t('api-keys.filters')} filters={filters} />
      <ListQuery
        queryKey={['api-keys', query]}
        read={(before) => client.call(listAllApiKeys, { query: { ...query, before } })}
        empty={t('api-keys.empty')}
      >
        {(keys) => (
          <>
            <KeyTable
              label={t('api-keys.title')}
              keys={keys}
              about={({ workspaceBizId }) => [
                [t('api-keys.workspace'), <WorkspaceLink key="id" id={workspaceBizId} />],
              ]}
              commands={(key) => <Commands apiKey={key} />}
            />
            <ExportRows name="api-keys" header={header} rows={() => keys.map(rowOf)} />
          </>
        )}
      </ListQuery>
    </Page>
  )
}

function Commands({ apiKey }: { apiKey: AllApiKey }) {
  const params = { api_key_id: apiKey.bizId }
  return (
    <KeyCommands
      apiKey={apiKey}
      blocked={useMissing('api-key:end')}
      enabledFrom={['DISABLED']}
      enable={(reason) => client.call(enableAnyApiKey, { params, body: { reason } })}
      disable={(reason) => client.call(disableAnyApiKey, { params, body: { reason } })}
      remove={(reason) => client.call(deleteAnyApiKey, { params, body: { reason } })}
    />
  )
}

const filters = [
  {
    name: 'status',
    label: t('api-keys.status'),
    options: statuses.map((value) => ({ value, label: t(`api-keys.status_${value}`) })),
  },
  { name: 'keyPrefix', label: t('api-keys.prefix') },
  { name: 'workspaceId', label: t('workspaces.workspaceId') },
  { name: 'createdBy', label: t('api-keys.creatorId') },
]
