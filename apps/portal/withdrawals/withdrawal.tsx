import { useQuery } from '@tanstack/react-query'
import { cancelWithdrawal, readWithdrawal, type Withdrawal } from 'portal-client'
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
import { accountLabel, useAccounts } from './accounts.tsx'

/** A payout with its state. */
export default function WithdrawalPage() {
  const withdrawalId = useParameter('withdrawalId')
  const workspaceId = useWorkspace().workspace.workspaceBizId
  const query = useQuery({
    queryKey: ['withdrawal', workspaceId, withdrawalId],
    queryFn: () => client.call(readWithdrawal, { workspaceId, params: { withdrawal_id: withdrawalId } }),
  })
  const title = query.data ? t('withdrawals.one', { orderNo: query.data.orderNo }) : t('withdrawals.title')
  return (
    <Page title={title}>
      <QueryView query={query}>{(withdrawal) => <Details withdrawal={withdrawal} />}</QueryView>
    </Page>
  )
}

/** They paid nothing out. */
const fruitless: ReadonlySet<string> = new Set(['REJECTED', 'CANCELLED', 'FAILED'])

function Details({ withdrawal }: { withdrawal: Withdrawal }) {
  const { amount, currency, feeAmount, netAmount, withdrawalStatus } = withdrawal
  return (
    <>
      <State withdrawal={withdrawal} />
      <OrderFacts
        order={withdrawal}
        status={withdrawalStatus}
        facts={[
          [t('orders.amount'), formatMoney(amount, currency)],
          [t('orders.fee'), formatMoney(feeAmount, currency)],
          [
            t('withdrawals.paidOut'),
            fruitless.has(withdrawalStatus.code) ? null : <strong key="net">{formatMoney(netAmount, currency)}</strong>,
          ],
          [t('orders.wallet'), <WalletName key="wallet" id={withdrawal.walletBizId} />],
          [t('withdrawals.account'), <AccountName key="account" id={withdrawal.withdrawalChannelBizId} />],
          [t('orders.remark'), withdrawal.remark],
          [t('orders.reason'), withdrawal.failureReason],
          [t('withdrawals.bankReference'), withdrawal.externalReference],
        ]}
      />
      <StatusHistory history={withdrawal.statusHistory} />
    </>
  )
}

function State({ withdrawal }: { withdrawal: Withdrawal }) {
  const { withdrawalStatus, amount, currency } = withdrawal
  switch (withdrawalStatus.code) {
    case 'PENDING_APPROVAL':
      return <Pending withdrawal={withdrawal} />
    case 'PROCESSING':
      return <p className="notice">{t('withdrawals.onTheWay')}</p>
    case 'REJECTED':
      return (
        <p className="failure" role="status">
          {t('withdrawals.rejected', { amount: formatMoney(amount, currency) })}
        </p>
      )
    case 'FAILED':
    case 'RETURNED':
      return (
        <p className="failure" role="status">
          {t('withdrawals.givenBack', { amount: formatMoney(amount, currency) })}
        </p>
      )
    default:
      return null
  }
}

function Pending({ withdrawal: { bizId } }: { withdrawal: Withdrawal }) {
  const workspaceId = useWorkspace().workspace.workspaceBizId
  return (
    <div className="notice">
      <p>{t('withdrawals.waits')}</p>
      <Permitted permission="withdrawal:create">
        <Command
          label={t('withdrawals.cancel')}
          title={t('withdrawals.cancelQuestion')}
          done={t('withdrawals.cancelled')}
          tone="danger"
          run={() => client.call(cancelWithdrawal, { workspaceId, params: { withdrawal_id: bizId } })}
        >
          <p>{t('transfers.cancelEffect')}</p>
        </Command>
      </Permitted>
    </div>
  )
}

function AccountName({ id }: { id: string }) {
  const account = useAccounts().data?.find(({ bizId }) => bizId === id)
  return account ? accountLabel(account) : <code>{id}</code>
}
