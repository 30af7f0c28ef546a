import { listExchanges } from 'portal-client'
import { exchangeStatusCodes } from 'portico-client/forms'
import { Link } from 'wouter'
import { client } from '../../kit/client.ts'
import { formatMoney } from '../../kit/format.ts'
import { t } from '../../kit/i18n.ts'
import { ListQuery, Table } from '../../kit/list.tsx'
import { Page } from '../../kit/page.tsx'
import { Time } from '../../kit/time.tsx'
import { Filters, InputFilter, IntervalFilter, StatusFilter, useFilter, useInterval } from '../orders/filters.tsx'
import { StatusBadge } from '../orders/status.tsx'
import { Permitted } from '../permissions/permissions.tsx'
import { useWorkspace } from '../workspace.tsx'

/** The exchanges of the workspace. */
export default function Exchanges() {
  return (
    <Page title={t('exchanges.title')} actions={<NewExchange />}>
      <Filters>
        <StatusFilter codes={exchangeStatusCodes} />
        <IntervalFilter />
        <InputFilter name="order" label={t('orders.orderNo')} type="search" />
      </Filters>
      <List />
    </Page>
  )
}

function NewExchange() {
  return (
    <Permitted permission="exchange:create">
      <Link className="button primary" href="/exchanges/new">
        {t('exchanges.new')}
      </Link>
    </Permitted>
  )
}

function List() {
  const workspaceId = useWorkspace().workspace.workspaceBizId
  const { startTime, endTime } = useInterval()
  const [status] = useFilter('status')
  const [orderNo] = useFilter('order')
  const exchangeStatus = exchangeStatusCodes.find((code) => code === status)
  const filter = { exchangeStatus, startTime, endTime, orderNo }
  return (
    <ListQuery
      queryKey={['exchanges', workspaceId, filter]}
      read={(before) => client.call(listExchanges, { workspaceId, query: { before, ...filter } })}
      empty={t('exchanges.empty')}
    >
      {(exchanges) => (
        <Table
          label={t('exchanges.title')}
          items={exchanges}
          keyOf={({ bizId }) => bizId}
          columns={[
            {
              title: t('orders.orderNo'),
              cell: ({ bizId, orderNo: name }) => <Link href={`/exchanges/${bizId}`}>{name}</Link>,
            },
            { title: t('orders.created'), cell: ({ createdAt }) => <Time at={createdAt} /> },
            { title: t('orders.status'), cell: (exchange) => <StatusBadge status={exchange.exchangeStatus} /> },
            {
              title: t('exchanges.sold'),
              align: 'end',
              cell: ({ sourceAmount, sourceCurrency }) => formatMoney(sourceAmount, sourceCurrency),
            },
            {
              title: t('exchanges.bought'),
              align: 'end',
              cell: ({ targetAmount, targetCurrency }) => formatMoney(targetAmount, targetCurrency),
            },
          ]}
        />
      )}
    </ListQuery>
  )
}
