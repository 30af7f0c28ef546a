import { useQuery } from '@tanstack/react-query'
import {
  createRecharge,
  listRechargeChannels,
  type QuoteRechargeReply,
  quoteRecharge,
  type RechargeChannel,
  type Wallet,
} from 'portal-client'
import { useState } from 'react'
import { useLocation, useSearchParams } from 'wouter'
import { refreshData } from '../../kit/app.tsx'
import { client } from '../../kit/client.ts'
import { Facts } from '../../kit/facts.tsx'
import { formatMoney, formatShare } from '../../kit/format.ts'
import { AmountField, Form, SelectField } from '../../kit/forms.tsx'
import { t } from '../../kit/i18n.ts'
import { Page, Section } from '../../kit/page.tsx'
import { Loading, QueryView } from '../../kit/states.tsx'
import { notify } from '../../kit/toasts.tsx'
import { useWallets, WalletField } from '../orders/wallets.tsx'
import { useWorkspace } from '../workspace.tsx'

/** Announces a payment, after a look at its fee. */
export default function NewRecharge() {
  const workspaceId = useWorkspace().workspace.workspaceBizId
  const { wallets, isPending } = useWallets()
  const [search] = useSearchParams()
  const channels = useQuery({
    queryKey: ['recharge-channels', workspaceId],
    queryFn: () => client.call(listRechargeChannels, { workspaceId }),
  })
  if (isPending) return <Loading />
  const wallet = wallets.find(({ bizId }) => bizId === search.get('wallet')) ?? wallets.find((each) => each.isDefault)
  return (
    <Page title={t('recharges.new')}>
      <QueryView query={channels}>
        {(found) => <RechargeForm channels={found.filter(({ enabled }) => enabled)} first={wallet ?? wallets[0]} />}
      </QueryView>
    </Page>
  )
}

interface FormProps {
  channels: readonly RechargeChannel[]
  first: Wallet | undefined
}

/** The figures disappear when the user changes a field. */
function RechargeForm({ channels, first }: FormProps) {
  const workspaceId = useWorkspace().workspace.workspaceBizId
  const [wallet, setWallet] = useState(first)
  const [chosen, setChosen] = useState<string | null>(null)
  const [quote, setQuote] = useState<QuoteRechargeReply | null>(null)
  const offered = channels.filter(({ currency }) => wallet === undefined || currency === wallet.currency)
  const channel = offered.find(({ channelCode }) => channelCode === chosen) ?? offered[0]
  return (
    <>
      <section className="section" onChange={() => setQuote(null)}>
        <Form
          submit={t('recharges.quote')}
          onSubmit={async (values) => {
            const body = {
              walletBizId: values('walletBizId'),
              channelCode: values('channelCode'),
              amount: values('amount'),
            }
            setQuote(await client.call(quoteRecharge, { workspaceId, body }))
          }}
        >
          <WalletField label={t('orders.wallet')} name="walletBizId" defaultValue={first?.bizId} onChange={setWallet} />
          {channel ? (
            <>
              <SelectField
                key={wallet?.currency}
                label={t('recharges.channel')}
                name="channelCode"
                options={offered.map(({ channelCode, channelName }) => ({ value: channelCode, label: channelName }))}
                hint={feeOf(channel)}
                onChange={setChosen}
              />
              <AmountField
                label={t('orders.amount')}
                name="amount"
                currency={wallet?.currency}
                hint={limitsOf(channel)}
                required
              />
            </>
          ) : (
            <p className="hint">{t('recharges.noChannel')}</p>
          )}
        </Form>
      </section>
      {quote && <Announce key={JSON.stringify(quote)} quote={quote} />}
    </>
  )
}

function Announce({ quote }: { quote: QuoteRechargeReply }) {
  const workspaceId = useWorkspace().workspace.workspaceBizId
  const [, navigate] = useLocation()
  const { walletBizId, channelCode, amount, currency, feeAmount, netAmount } = quote
  const submit = async (): Promise<void> => {
    const body = { walletBizId, channelCode, amount }
    const { bizId } = await client.call(createRecharge, { workspaceId, body })
    notify(t('recharges.announced'))
    await refreshData()
    navigate(`/recharges/${bizId}`)
  }
  return (
    <Section title={t('recharges.figures')}>
      <Facts
        facts={[
          [t('orders.amount'), formatMoney(amount, currency)],
          [t('orders.fee'), formatMoney(feeAmount, currency)],
          [t('recharges.credited'), <strong key="net">{formatMoney(netAmount, currency)}</strong>],
        ]}
      />
      <Form submit={t('recharges.announce')} onSubmit={submit} />
    </Section>
  )
}

function feeOf({ fixedFee, feeRate, currency }: RechargeChannel): string {
  if (isZero(fixedFee) && isZero(feeRate)) return t('recharges.noFee')
  return t('recharges.feeOf', { fixed: formatMoney(fixedFee, currency), rate: formatShare(Number(feeRate)) })
}

function limitsOf({ minAmount, maxAmount, currency }: RechargeChannel): string {
  return t('recharges.limits', { min: formatMoney(minAmount, currency), max: formatMoney(maxAmount, currency) })
}

function isZero(decimal: string): boolean {
  return /^[0.]+$/.test(decimal)
}
