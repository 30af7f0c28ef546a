import { type ExchangeQuote, quoteExchange } from 'portal-client'
import { fixedSideCodes } from 'portico-client/forms'
import { useState } from 'react'
import { client } from '../../kit/client.ts'
import { AmountField, Form, SelectField, type Values } from '../../kit/forms.tsx'
import { t } from '../../kit/i18n.ts'
import { Page } from '../../kit/page.tsx'
import { Empty, Loading } from '../../kit/states.tsx'
import { useWallets } from '../orders/wallets.tsx'
import { useWorkspace } from '../workspace.tsx'
import { QuoteView } from './quote.tsx'

/** Exchanges currencies at the figures of a quote. */
export default function NewExchange() {
  const { wallets, isPending } = useWallets()
  if (isPending) return <Loading />
  const active = wallets.filter(({ isDefault, walletStatus }) => isDefault && walletStatus.code === 'ACTIVE')
  const currencies = active.map(({ currency }) => currency)
  return (
    <Page title={t('exchanges.new')}>
      {currencies.length < 2 ? <Empty title={t('exchanges.oneCurrency')} /> : <QuoteForm currencies={currencies} />}
    </Page>
  )
}

/** The quote disappears when the user changes a field. */
function QuoteForm({ currencies }: { currencies: readonly string[] }) {
  const workspaceId = useWorkspace().workspace.workspaceBizId
  const [source, setSource] = useState(currencies[0])
  const [asked, setAsked] = useState<Parameters<typeof ask>[1] | null>(null)
  const [quote, setQuote] = useState<ExchangeQuote | null>(null)
  const submit = async (values: Values): Promise<void> => {
    const body = {
      sourceCurrency: values('sourceCurrency'),
      targetCurrency: values('targetCurrency'),
      amount: values('amount'),
      fixedSide: fixedSideCodes.find((code) => code === values('fixedSide')) ?? 'SOURCE',
    }
    setQuote(await ask(workspaceId, body))
    setAsked(body)
  }
  return (
    <>
      <section className="section" onChange={() => setQuote(null)}>
        <Form submit={t('exchanges.quote')} onSubmit={submit}>
          <SelectField
            label={t('exchanges.sell')}
            name="sourceCurrency"
            options={optionsOf(currencies)}
            onChange={setSource}
          />
          <SelectField
            key={source}
            label={t('exchanges.buy')}
            name="targetCurrency"
            options={optionsOf(currencies.filter((currency) => currency !== source))}
          />
          <SelectField
            label={t('exchanges.side')}
            name="fixedSide"
            options={fixedSideCodes.map((value) => ({ value, label: t(`exchanges.side_${value}`) }))}
          />
          <AmountField label={t('orders.amount')} name="amount" required />
        </Form>
      </section>
      {quote && asked && (
        <QuoteView key={quote.quoteBizId} quote={quote} onRenew={async () => setQuote(await ask(workspaceId, asked))} />
      )}
    </>
  )
}

function ask(
  workspaceId: string,
  body: Pick<ExchangeQuote, 'sourceCurrency' | 'targetCurrency'> & {
    amount: string
    fixedSide: (typeof fixedSideCodes)[number]
  },
): Promise<ExchangeQuote> {
  return client.call(quoteExchange, { workspaceId, body })
}

function optionsOf(currencies: readonly string[]): { value: string; label: string }[] {
  return currencies.map((currency) => ({ value: currency, label: currency }))
}
