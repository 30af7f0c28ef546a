import { listTransfers } from 'portal-client'
import { transferStatusCodes } from 'portico-client/forms'
import { client } from '../../kit/client.ts'
import { InputFilter, useChoice, useFilter } from '../../kit/filters.tsx'
import { t } from '../../kit/i18n.ts'
import { ListQuery, useEmpty } from '../../kit/list.tsx'
import { Page } from '../../kit/page.tsx'
import { OrderFilters, useInterval } from '../orders/filters.tsx'
import { amountColumn, NewOrder, OrderTable } from '../orders/list.tsx'
import { StatusBadge } from '../orders/status.tsx'
import { WalletName } from '../orders/wallets.tsx'
import { useWorkspace } from '../workspace.tsx'

/** The transfers from and to the wallets of the workspace. */
export default function Transfers() {
  return (
    <Page
      title={t('transfers.title')}
      actions={<NewOrder href="/transfers/new" permission="transfer:create" label={t('transfers.new')} />}
    >
      <OrderFilters statuses={transferStatusCodes}>
        <InputFilter name="reference" label={t('transfers.reference')} type="search" />
      </OrderFilters>
      <List />
    </Page>
  )
}

function List() {
  const workspaceId = useWorkspace().workspace.workspaceBizId
  const transferStatus = useChoice('status', transferStatusCodes)
  const [walletId] = useFilter('wallet')
  const [orderNo] = useFilter('order')
  const [clientReference] = useFilter('reference')
  const filter = { ...useInterval(), transferStatus, walletId, orderNo, clientReference }
  return (
    <ListQuery
      queryKey={['transfers', workspaceId, filter]}
      read={(before) => client.call(listTransfers, { workspaceId, query: { before, ...filter } })}
      empty={useEmpty(t('transfers.empty'))}
    >
      {(transfers) => (
        <OrderTable
          label={t('transfers.title')}
          orders={transfers}
          path="/transfers"
          columns={[
            { title: t('transfers.source'), cell: ({ sourceWalletBizId }) => <WalletName id={sourceWalletBizId} /> },
            { title: t('transfers.target'), cell: ({ targetWalletBizId }) => <WalletName id={targetWalletBizId} /> },
            { title: t('orders.status'), cell: ({ transferStatus: status }) => <StatusBadge status={status} /> },
            amountColumn,
          ]}
        />
      )}
    </ListQuery>
  )
}
