import { listApiKeys } from 'portal-client'
import { Link } from 'wouter'
import { client } from '../../kit/client.ts'
import { ChoiceFilter, Filters, useChoice } from '../../kit/filters.tsx'
import { t } from '../../kit/i18n.ts'
import { ListQuery, Table, useEmpty } from '../../kit/list.tsx'
import { Page } from '../../kit/page.tsx'
import { usePermission } from '../../kit/session.tsx'
import { Time } from '../../kit/time.tsx'
import { Lacking } from '../permissions/permissions.tsx'
import { useWorkspace } from '../workspace.tsx'
import { ApiKeyCommands } from './commands.tsx'
import { Expiry, KeyStatus, statuses } from './parts.tsx'

/** The API keys of the workspace. `status` in the address filters them. */
export default function ApiKeys() {
  const { workspaceBizId: workspaceId } = useWorkspace().workspace
  const apiKeyStatus = useChoice('status', statuses)
  return (
    <Page title={t('api-keys.title')} actions={<NewKey />}>
      <Lacking permission="api-key:manage" />
      <StatusFilter />
      <ListQuery
        queryKey={['api-keys', workspaceId, apiKeyStatus]}
        read={(before) => client.call(listApiKeys, { workspaceId, query: { before, apiKeyStatus } })}
        empty={useEmpty(t('api-keys.empty'))}
      >
        {(keys) => (
          <Table
            label={t('api-keys.title')}
            items={keys}
            keyOf={({ bizId }) => bizId}
            columns={[
              {
                title: t('api-keys.name'),
                cell: ({ bizId, apiKeyName, keyPrefix, keyLast4 }) => (
                  <div className="api-keys-name">
                    <Link href={`/api-keys/${bizId}`}>{apiKeyName}</Link>
                    <code className="hint">
                      {keyPrefix}…{keyLast4}
                    </code>
                  </div>
                ),
              },
              { title: t('api-keys.status'), cell: (key) => <KeyStatus status={key.apiKeyStatus} /> },
              { title: t('api-keys.expires'), cell: (key) => <Expiry apiKey={key} /> },
              {
                title: t('api-keys.lastUsed'),
                cell: ({ lastUsedAt }) => <Time at={lastUsedAt} none={t('api-keys.never')} />,
              },
              { title: t('api-keys.actions'), cell: (key) => <ApiKeyCommands apiKey={key} /> },
            ]}
          />
        )}
      </ListQuery>
    </Page>
  )
}

function NewKey() {
  if (!usePermission('api-key:manage')) return null
  return (
    <Link href="/api-keys/new" className="button primary">
      {t('api-keys.create')}
    </Link>
  )
}

function StatusFilter() {
  const options = statuses.map((value) => ({ value, label: t(`api-keys.status_${value}`) }))
  return (
    <Filters>
      <ChoiceFilter
        name="status"
        label={t('api-keys.status')}
        options={[{ value: '', label: t('api-keys.allStatuses') }, ...options]}
      />
    </Filters>
  )
}
