import {
  deleteOperatorApiKey,
  disableOperatorApiKey,
  enableOperatorApiKey,
  listOperatorApiKeys,
  type OperatorApiKeyEntry,
} from 'portal-client'
import { useSearchParams } from 'wouter'
import { client } from '../../kit/client.ts'
import { t } from '../../kit/i18n.ts'
import { ListQuery } from '../../kit/list.tsx'
import { Page } from '../../kit/page.tsx'
import { useSession } from '../../kit/session.tsx'
import { useMissing } from '../records/command.tsx'
import { ExportRows } from '../records/export-rows.tsx'
import { Filters, oneOf } from '../records/filters.tsx'
import { CreateKey } from './create-key.tsx'
import { header, KeyCommands, KeyTable, rowOf, statuses } from './key-table.tsx'

/** The API keys of operators. One operator creates a key, and another one enables it. */
export default function OperatorKeys() {
  const [search] = useSearchParams()
  const apiKeyStatus = oneOf(statuses, search.get('status'))
  return (
    <Page title={t('api-keys.ofOperators')} actions={<CreateKey />}>
      <p>{t('api-keys.fourEyes')}</p>
      <Filters label={t('api-keys.filters')} filters={filters} />
      <ListQuery
        queryKey={['operator-keys', apiKeyStatus]}
        read={(before) => client.call(listOperatorApiKeys, { query: { apiKeyStatus, before } })}
        empty={t('api-keys.empty')}
      >
        {(keys) => (
          <>
            <KeyTable
              label={t('api-keys.ofOperators')}
              keys={keys}
              about={({ providerId }) => (providerId === null ? [] : [[t('operators.provider'), providerId]])}
              commands={(key) => <Commands apiKey={key} />}
            />
            <ExportRows name="operator-keys" header={header} rows={() => keys.map(rowOf)} />
          </>
        )}
      </ListQuery>
    </Page>
  )
}

function Commands({ apiKey }: { apiKey: OperatorApiKeyEntry }) {
  const { accountId } = useSession()
  const params = { api_key_id: apiKey.bizId }
  return (
    <KeyCommands
      apiKey={apiKey}
      blocked={useMissing('operator-key:manage')}
      enabledFrom={['DISABLED', 'SUSPENDED']}
      enablingBlocked={apiKey.createdBy === accountId ? t('api-keys.ownKey') : null}
      enable={(reason) => client.call(enableOperatorApiKey, { params, body: { reason } })}
      disable={(reason) => client.call(disableOperatorApiKey, { params, body: { reason } })}
      remove={(reason) => client.call(deleteOperatorApiKey, { params, body: { reason } })}
    />
  )
}

const filters = [
  {
    name: 'status',
    label: t('api-keys.status'),
    options: statuses.map((value) => ({ value, label: t(`api-keys.status_${value}`) })),
  },
]
