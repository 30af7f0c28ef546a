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
import { Command, useMissing } from '../records/command.tsx'
import { ExportRows } from '../records/export-rows.tsx'
import { Filters, oneOf } from '../records/filters.tsx'
import { CreateKey } from './create-key.tsx'
import { header, KeyTable, rowOf, statuses } from './key-table.tsx'

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

function Commands({ apiKey: { bizId, apiKeyName, apiKeyStatus, createdBy } }: { apiKey: OperatorApiKeyEntry }) {
  const { accountId } = useSession()
  const blocked = useMissing('operator-key:manage')
  const own = createdBy === accountId ? t('api-keys.ownKey') : null
  const params = { api_key_id: bizId }
  const values = { name: apiKeyName }
  const { code } = apiKeyStatus
  if (code === 'DELETED') return null
  return (
    <span className="records-commands">
      {(code === 'DISABLED' || code === 'SUSPENDED') && (
        <Command
          label={t('api-keys.enable')}
          question={t('api-keys.enableQuestion', values)}
          run={(form) => client.call(enableOperatorApiKey, { params, body: { reason: form('reason') } })}
          done={t('api-keys.enabled')}
          blocked={blocked ?? own}
          asksReason
        />
      )}
      {code === 'ACTIVE' && (
        <Command
          label={t('api-keys.disable')}
          question={t('api-keys.disableQuestion', values)}
          run={(form) => client.call(disableOperatorApiKey, { params, body: { reason: form('reason') } })}
          done={t('api-keys.disabled')}
          blocked={blocked}
          tone="danger"
          asksReason
        />
      )}
      <Command
        label={t('api-keys.delete')}
        question={t('api-keys.deleteQuestion', values)}
        run={(form) => client.call(deleteOperatorApiKey, { params, body: { reason: form('reason') } })}
        done={t('api-keys.deleted')}
        blocked={blocked}
        tone="danger"
        asksReason
      />
    </span>
  )
}

const filters = [
  {
    name: 'status',
    label: t('api-keys.status'),
    options: statuses.map((value) => ({ value, label: t(`api-keys.status_${value}`) })),
  },
]
