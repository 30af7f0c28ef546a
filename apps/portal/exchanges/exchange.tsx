import { useQuery } from '@tanstack/react-query'
import { type Exchange, readExchange } from 'portal-client'
import { client } from '../../kit/client.ts'
import { formatMoney } from '../../kit/format.ts'
import { t } from '../../kit/i18n.ts'
import { Page } from '../../kit/page.tsx'
import { useParameter } from '../../kit/pages.tsx'
import { QueryView } from '../../kit/states.tsx'
import { OrderFacts, StatusHistory } from '../orders/status.tsx'
import { WalletName } from '../orders/wallets.tsx'
import { useWorkspace } from '../workspace.tsx'
import { rateOf } from './quote.tsx'

/** An exchange with its figures. */
export default function ExchangePage() {
  const exchangeId = useParameter('exchangeId')
  const workspaceId = useWorkspace().workspace.workspaceBizId
  const query = useQuery({
    queryKey: ['exchange', workspaceId, exchangeId],
    queryFn: () => client.call(readExchange, { workspaceId, params: { exchange_id: exchangeId } }),
  })
  const title = query.data ? t('exchanges.one', { orderNo: query.data.orderNo }) : t('exchanges.title')
  return (
    <Page title={title}>
      <QueryView query={query}>{(exchange) => <Details exchange={exchange} />}</QueryView>
    </Page>
  )
}

function Details({ exchange }: { exchange: Exchange }) {
  const { sourceAmount, sourceCurrency, targetAmount, targetCurrency, feeAmount, feeCurrency } = exchange
  return (
    <>
      <OrderFacts
        order={exchange}
        status={exchange.exchangeStatus}
        facts={[
          [t('exchanges.sold'), <strong key="sold">{formatMoney(sourceAmount, sourceCurrency)}</strong>],
          [t('exchanges.bought'), <strong key="bought">{formatMoney(targetAmount, targetCurrency)}</strong>],
          [t('exchanges.rate'), rateOf(exchange)],
          [t('orders.fee'), formatMoney(feeAmount, feeCurrency)],
          [t('transfers.source'), <WalletName key="source" id={exchange.sourceWalletBizId} />],
          [t('transfers.target'), <WalletName key="target" id={exchange.targetWalletBizId} />],
        ]}
      />
      <StatusHistory history={exchange.statusHistory} />
    </>
  )
}
