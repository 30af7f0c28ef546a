import { useQuery } from '@tanstack/react-query'
import { createExchange, type ExchangeQuote, readExchangeQuote } from 'portal-client'
import { useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { refreshData } from '../../kit/app.tsx'
import { client } from '../../kit/client.ts'
import { Facts } from '../../kit/facts.tsx'
import { formatAmount, formatMoney } from '../../kit/format.ts'
import { Form } from '../../kit/forms.tsx'
import { t } from '../../kit/i18n.ts'
import { Section } from '../../kit/page.tsx'
import { notify } from '../../kit/toasts.tsx'
import { useWorkspace } from '../workspace.tsx'

interface Props {
  quote: ExchangeQuote
  /** Asks for another quote with the same input. */
  onRenew(): Promise<void>
}

/** The figures of a quote, which the user accepts before it expires. */
export function QuoteView({ quote, onRenew }: Props) {
  const { sourceAmount, sourceCurrency, targetAmount, targetCurrency, feeAmount, feeCurrency } = quote
  const seconds = useSecondsUntil(quote.expiresAt)
  const isExpired = useExpired(quote, seconds === 0)
  return (
    <Section title={t('exchanges.offer')}>
      <Facts
        facts={[
          [t('exchanges.sell'), <strong key="sell">{formatMoney(sourceAmount, sourceCurrency)}</strong>],
          [t('exchanges.buy'), <strong key="buy">{formatMoney(targetAmount, targetCurrency)}</strong>],
          [t('exchanges.rate'), rateOf(quote)],
          [t('orders.fee'), formatMoney(feeAmount, feeCurrency)],
        ]}
      />
      {isExpired ? (
        <>
          <p role="status">{t('exchanges.expired')}</p>
          <Form submit={t('exchanges.renew')} onSubmit={onRenew} />
        </>
      ) : (
        <>
          {seconds > 0 && (
            <p className="exchanges-time" role="timer">
              {t('exchanges.validFor', { count: seconds })}
            </p>
          )}
          <Accept quote={quote} />
        </>
      )}
    </Section>
  )
}

export function rateOf({
  rate,
  sourceCurrency,
  targetCurrency,
}: Pick<ExchangeQuote, 'rate' | 'sourceCurrency' | 'targetCurrency'>): string {
  return `1 ${sourceCurrency} = ${formatAmount(rate)} ${targetCurrency}`
}

function Accept({ quote: { quoteBizId } }: { quote: ExchangeQuote }) {
  const workspaceId = useWorkspace().workspace.workspaceBizId
  const [, navigate] = useLocation()
  const submit = async (): Promise<void> => {
    const { bizId } = await client.call(createExchange, { workspaceId, body: { quoteBizId } })
    notify(t('exchanges.made'))
    navigate(`/exchanges/${bizId}`)
    await refreshData()
  }
  return <Form submit={t('exchanges.accept')} onSubmit={submit} />
}

/** Counts down to zero. */
function useSecondsUntil(instant: string): number {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    setNow(Date.now())
    const timer = setInterval(() => setNow(Date.now()), 250)
    return () => clearInterval(timer)
  }, [])
  return Math.max(0, Math.ceil((Date.parse(instant) - now) / 1_000))
}

/** The gateway decides whether a quote has expired: the clock of this device can be wrong. */
function useExpired({ quoteBizId }: ExchangeQuote, isLikely: boolean): boolean {
  const workspaceId = useWorkspace().workspace.workspaceBizId
  const { data } = useQuery({
    queryKey: ['exchange-quote', workspaceId, quoteBizId],
    queryFn: () => client.call(readExchangeQuote, { workspaceId, params: { quote_id: quoteBizId } }),
    enabled: isLikely,
    refetchInterval: ({ state }) => (state.data?.quoteStatus.code === 'OPEN' ? 1_000 : false),
  })
  return data !== undefined && data.quoteStatus.code !== 'OPEN'
}
