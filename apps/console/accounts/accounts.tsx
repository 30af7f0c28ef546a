import { type Account, listAccounts } from 'portal-client'
import { Link, useSearchParams } from 'wouter'
import { client } from '../../kit/client.ts'
import { t } from '../../kit/i18n.ts'
import { ListQuery, Table } from '../../kit/list.tsx'
import { Page } from '../../kit/page.tsx'
import { Time } from '../../kit/time.tsx'
import { ExportRows } from '../records/export-rows.tsx'
import { Filters, oneOf } from '../records/filters.tsx'
import { portalNames, portalOptions } from '../records/portals.ts'
import { AccountStatusBadge } from './status.tsx'

const statuses = ['PENDING_APPROVAL', 'ACTIVE', 'SUSPENDED', 'REJECTED'] as const

/** Accounts of all portals. */
export default function Accounts() {
  const [search] = useSearchParams()
  const query = {
    accountPortal: oneOf(portalNames, search.get('portal')),
    accountStatus: oneOf(statuses, search.get('status')),
    accountEmail: search.get('email') ?? undefined,
  }
  return (
    <Page title={t('accounts.title')}>
      <Filters label={t('accounts.filters')} filters={filters} />
      <ListQuery
        queryKey={['accounts', query]}
        read={(before) => client.call(listAccounts, { query: { ...query, before } })}
        empty={t('accounts.empty')}
      >
        {(accounts) => (
          <>
            <Table
              label={t('accounts.title')}
              items={accounts}
              keyOf={({ bizId }) => bizId}
              columns={[
                {
                  title: t('accounts.email'),
                  cell: ({ bizId, accountEmail }) => <Link href={`/accounts/${bizId}`}>{accountEmail}</Link>,
                },
                { title: t('accounts.name'), cell: ({ accountName }) => accountName },
                { title: t('accounts.portal'), cell: ({ accountPortal }) => accountPortal.label },
                {
                  title: t('accounts.status'),
                  cell: ({ accountStatus }) => <AccountStatusBadge status={accountStatus} />,
                },
                { title: t('records.created'), cell: ({ createdAt }) => <Time at={createdAt} /> },
                {
                  title: t('accounts.lastLogin'),
                  cell: ({ lastLoginAt }) => <Time at={lastLoginAt} none={t('records.never')} />,
                },
              ]}
            />
            <ExportRows name="accounts" header={header} rows={() => accounts.map(rowOf)} />
          </>
        )}
      </ListQuery>
    </Page>
  )
}

const filters = [
  {
    name: 'portal',
    label: t('accounts.portal'),
    options: portalOptions,
  },
  {
    name: 'status',
    label: t('accounts.status'),
    options: statuses.map((value) => ({ value, label: t(`accounts.status_${value}`) })),
  },
  { name: 'email', label: t('accounts.email') },
]

const header = ['bizId', 'accountEmail', 'accountName', 'accountPortal', 'accountStatus', 'createdAt', 'lastLoginAt']

function rowOf(account: Account) {
  const { bizId, accountEmail, accountName, accountPortal, accountStatus, createdAt, lastLoginAt } = account
  return [bizId, accountEmail, accountName, accountPortal.code, accountStatus.code, createdAt, lastLoginAt]
}
