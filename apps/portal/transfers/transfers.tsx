import { listTransfers } from 'portal-client'
import { transferStatusCodes } from 'portico-client/forms'
import { Link } from 'wouter'
import { client } from '../../kit/client.ts'
import { formatMoney } from '../../kit/format.ts'
import { t } from '../../kit/i18n.ts'
import { ListQuery, Table } from '../../kit/list.tsx'
import { Page } from '../../kit/page.tsx'
import { Time } from '../../kit/time.tsx'
import {
  Filters,
  InputFilter,
  IntervalFilter,
  StatusFilter,
  useFilter,
  useInterval,
  WalletFilter,
} from '../orders/filters.tsx'
import { StatusBadge } from '../orders/status.tsx'
import { WalletName } from '../orders/wallets.tsx'
import { Permitted } from '../permissions/permissions.tsx'
import { useWorkspace } from '../workspace.tsx'

/** The transfers from and to the wallets of the workspace. */
export default function Transfers() {
  return (
    <Page title={t('transfers.title')} actions={<NewTransfer />}>
      <Filters>
        <StatusFilter codes={transferStatusCodes} />
        <WalletFilter />
        <IntervalFilter />
        <InputFilter name="order" label={t('orders.orderNo')} type="search" />
        <InputFilter name="reference" label={t('transfers.reference')} type="search" />
      </Filters>
      <List />
    </Page>
  )
}

function NewTransfer() {
  return (
    <Permitted permission="transfer:create">
      <Link className="button primary" href="/transfers/new">
        {t('transfers.new')}
      </Link>
    </Permitted>
  )
}

function List() {
  const workspaceId = useWorkspace().workspace.workspaceBizId
  const { startTime, endTime } = useInterval()
  const [status] = useFilter('status')
  const [walletId] = useFilter('wallet')
  const [orderNo] = useFilter('order')
  const [clientReference] = useFilter('reference')
  const transferStatus = transferStatusCodes.find((code) => code === status)
  const filter = { transferStatus, walletId, startTime, endTime, orderNo, clientReference }
  return (
    <ListQuery
      queryKey={['transfers', workspaceId, filter]}
      read={(before) => client.call(listTransfers, { workspaceId, query: { before, ...filter } })}
      empty={t('transfers.empty')}
    >
      {(transfers) => (
        <Table
          label={t('transfers.title')}
          items={transfers}
          keyOf={({ bizId }) => bizId}
          columns={[
            {
              title: t('orders.orderNo'),
              cell: ({ bizId, orderNo: name }) => <Link href={`/transfers/${bizId}`}>{name}</Link>,
            },
            { title: t('orders.created'), cell: ({ createdAt }) => <Time at={createdAt} /> },
            { title: t('transfers.source'), cell: ({ sourceWalletBizId }) => <WalletName id={sourceWalletBizId} /> },
            { title: t('transfers.target'), cell: ({ targetWalletBizId }) => <WalletName id={targetWalletBizId} /> },
            { title: t('orders.status'), cell: (transfer) => <StatusBadge status={transfer.transferStatus} /> },
            {
              title: t('orders.amount'),
              align: 'end',
              cell: ({ amount, currency }) => formatMoney(amount, currency),
            },
          ]}
        />
      )}
    </ListQuery>
  )
}
