import { useQuery } from '@tanstack/react-query'
import { cancelRecharge, listRechargeChannels, type Recharge, readRecharge } from 'portal-client'
import { Link } from 'wouter'
import { client } from '../../kit/client.ts'
import { Command } from '../../kit/command/command.tsx'
import { formatMoney, formatTime } from '../../kit/format.ts'
import { TextField } from '../../kit/forms.tsx'
import { t } from '../../kit/i18n.ts'
import { Page, Section } from '../../kit/page.tsx'
import { useParameter } from '../../kit/pages.tsx'
import { usePermission } from '../../kit/session.tsx'
import { QueryView } from '../../kit/states.tsx'
import { useTimeZone } from '../../kit/time.tsx'
import { OrderFacts, StatusHistory } from '../orders/status.tsx'
import { WalletName } from '../orders/wallets.tsx'
import { Permitted } from '../permissions/permissions.tsx'
import { useWorkspace } from '../workspace.tsx'
import { ProofForm } from './proof.tsx'

/** A recharge, with what the user does next. */
export default function RechargePage() {
  const rechargeId = useParameter('rechargeId')
  const workspaceId = useWorkspace().workspace.workspaceBizId
  const query = useQuery({
    queryKey: ['recharge', workspaceId, rechargeId],
    queryFn: () => client.call(readRecharge, { workspaceId, params: { recharge_id: rechargeId } }),
  })
  const title = query.data ? t('recharges.one', { orderNo: query.data.orderNo }) : t('recharges.title')
  return (
    <Page title={title}>
      <QueryView query={query}>{(recharge) => <Details recharge={recharge} />}</QueryView>
    </Page>
  )
}

/** They credited nothing. */
const fruitless: ReadonlySet<string> = new Set(['REJECTED', 'CANCELLED', 'EXPIRED'])

function Details({ recharge }: { recharge: Recharge }) {
  const { amount, currency, feeAmount, netAmount, receivedAmount, rechargeStatus } = recharge
  return (
    <>
      <Next recharge={recharge} />
      <OrderFacts
        order={recharge}
        status={rechargeStatus}
        facts={[
          [t('orders.amount'), formatMoney(amount, currency)],
          [t('recharges.receivedAmount'), receivedAmount && formatMoney(receivedAmount, currency)],
          [t('orders.fee'), formatMoney(feeAmount, currency)],
          [
            t('recharges.credited'),
            fruitless.has(rechargeStatus.code) ? null : <strong key="net">{formatMoney(netAmount, currency)}</strong>,
          ],
          [t('orders.wallet'), <WalletName key="wallet" id={recharge.walletBizId} />],
          [t('recharges.channel'), <ChannelName key="channel" code={recharge.channelCode} />],
          [t('recharges.bankReference'), recharge.externalReference],
          [t('orders.reason'), recharge.rejectReason ?? recharge.cancelReason],
        ]}
      />
      <StatusHistory history={recharge.statusHistory} />
    </>
  )
}

function Next({ recharge }: { recharge: Recharge }) {
  const { rechargeStatus, netAmount, currency, walletBizId } = recharge
  const canTransfer = usePermission('transfer:create')
  if (rechargeStatus.code === 'PENDING_PAYMENT') return <Pay recharge={recharge} />
  if (rechargeStatus.code === 'PROOF_SUBMITTED') return <p className="notice">{t('recharges.checking')}</p>
  if (rechargeStatus.code === 'REJECTED') {
    return (
      <p className="failure" role="status">
        {t('recharges.rejected')}
      </p>
    )
  }
  if (rechargeStatus.code !== 'COMPLETED') return null
  return (
    <div className="recharges-arrived" role="status">
      <p>{t('recharges.arrived', { amount: formatMoney(netAmount, currency) })}</p>
      {canTransfer && (
        <Link className="button" href={`/transfers/new?source=${walletBizId}`}>
          {t('wallets.transfer')}
        </Link>
      )}
    </div>
  )
}

function Pay({ recharge }: { recharge: Recharge }) {
  const { bizId, orderNo, amount, currency, channelCode, expiresAt } = recharge
  const workspaceId = useWorkspace().workspace.workspaceBizId
  const timeZone = useTimeZone()
  const channel = useChannelName(channelCode)
  const values = { amount: formatMoney(amount, currency), channel, time: formatTime(expiresAt, timeZone) }
  return (
    <Section title={t('recharges.pay')}>
      <p>{t('recharges.payText', values)}</p>
      <p>
        <code className="figure">{orderNo}</code>
      </p>
      <Permitted permission="recharge:create">
        <Permitted permission="file:upload">
          <ProofForm rechargeId={bizId} />
        </Permitted>
        <div>
          <Command
            label={t('recharges.cancel')}
            title={t('recharges.cancelQuestion')}
            done={t('recharges.cancelled')}
            tone="danger"
            run={(values) => {
              const body = { cancelReason: values('cancelReason') }
              return client.call(cancelRecharge, { workspaceId, params: { recharge_id: bizId }, body })
            }}
          >
            <p>{t('recharges.cancelEffect')}</p>
            <TextField label={t('orders.reason')} name="cancelReason" maxLength={200} required />
          </Command>
        </div>
      </Permitted>
    </Section>
  )
}

function ChannelName({ code }: { code: string }) {
  return useChannelName(code)
}

function useChannelName(code: string): string {
  const workspaceId = useWorkspace().workspace.workspaceBizId
  const { data } = useQuery({
    queryKey: ['recharge-channels', workspaceId],
    queryFn: () => client.call(listRechargeChannels, { workspaceId }),
  })
  return data?.find(({ channelCode }) => channelCode === code)?.channelName ?? code
}
