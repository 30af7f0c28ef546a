import { useQuery } from '@tanstack/react-query'
import { cancelTransfer, readTransfer, type Transfer } from 'portal-client'
import { client } from '../../kit/client.ts'
import { Command } from '../../kit/command/command.tsx'
import { formatMoney } from '../../kit/format.ts'
import { t } from '../../kit/i18n.ts'
import { Page } from '../../kit/page.tsx'
import { useParameter } from '../../kit/pages.tsx'
import { QueryView } from '../../kit/states.tsx'
import { OrderFacts, StatusHistory } from '../orders/status.tsx'
import { WalletName } from '../orders/wallets.tsx'
import { Permitted } from '../permissions/permissions.tsx'
import { useWorkspace } from '../workspace.tsx'

/** A transfer with its state. */
export default function TransferPage() {
  const orderId = useParameter('orderId')
  const workspaceId = useWorkspace().workspace.workspaceBizId
  const query = useQuery({
    queryKey: ['transfer', workspaceId, orderId],
    queryFn: () => client.call(readTransfer, { workspaceId, params: { order_id: orderId } }),
  })
  const title = query.data ? t('transfers.one', { orderNo: query.data.orderNo }) : t('transfers.title')
  return (
    <Page title={title}>
      <QueryView query={query}>{(transfer) => <Details transfer={transfer} />}</QueryView>
    </Page>
  )
}

function Details({ transfer }: { transfer: Transfer }) {
  const { amount, currency, feeAmount, remark, clientReference, failureCode, transferStatus } = transfer
  return (
    <>
      {transferStatus.code === 'PENDING_APPROVAL' && <Pending transfer={transfer} />}
      <OrderFacts
        order={transfer}
        status={transferStatus}
        facts={[
          [t('orders.amount'), <strong key="amount">{formatMoney(amount, currency)}</strong>],
          [t('orders.fee'), formatMoney(feeAmount, currency)],
          [t('transfers.source'), <WalletName key="source" id={transfer.sourceWalletBizId} />],
          [t('transfers.target'), <WalletName key="target" id={transfer.targetWalletBizId} />],
          [t('transfers.reference'), clientReference],
          [t('orders.remark'), remark],
          [t('transfers.failure'), failureCode],
        ]}
      />
      <StatusHistory history={transfer.statusHistory} />
    </>
  )
}

/** Only the sender can cancel. */
function Pending({ transfer: { bizId, workspaceBizId } }: { transfer: Transfer }) {
  const workspaceId = useWorkspace().workspace.workspaceBizId
  return (
    <div className="notice">
      <p>{t('transfers.waits')}</p>
      {workspaceBizId === workspaceId && (
        <Permitted permission="transfer:create">
          <Command
            label={t('transfers.cancel')}
            title={t('transfers.cancelQuestion')}
            done={t('transfers.cancelled')}
            tone="danger"
            run={() => client.call(cancelTransfer, { workspaceId, params: { order_id: bizId } })}
          >
            <p>{t('transfers.cancelEffect')}</p>
          </Command>
        </Permitted>
      )}
    </div>
  )
}
