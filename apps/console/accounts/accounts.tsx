import { listAccounts } from 'portal-client'
import { useSearchParams } from 'wouter'
import { client } from '../../kit/client.ts'
import { t } from '../../kit/i18n.ts'
import { ListQuery, Table } from '../../kit/list.tsx'
import { Page } from '../../kit/page.tsx'
import { Badge } from '../../kit/states.tsx'

/** Accounts of both portals. */
export default function Accounts() {
  const [search] = useSearchParams()
  const portal = search.get('portal')
  return (
    <Page title={t('accounts.title')}>
      <ListQuery
        queryKey={['accounts', portal]}
        read={(before) => client.call(listAccounts, { query: { before } })}
        empty={t('accounts.empty')}
      >
        {(accounts) => (
          <Table
            label={t('accounts.title')}
            items={accounts}
            keyOf={({ bizId }) => bizId}
            columns={[
              { title: t('accounts.email'), cell: ({ accountEmail }) => accountEmail },
              { title: t('accounts.status'), cell: ({ accountStatus }) => <Badge>{accountStatus.label}</Badge> },
            ]}
          />
        )}
      </ListQuery>
    </Page>
  )
}
