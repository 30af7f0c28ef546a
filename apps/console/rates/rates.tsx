import { useQuery } from '@tanstack/react-query'
import {
  confirmExchangeRate,
  type ExchangeRate,
  listExchangeRates,
  setExchangeRate,
  unsetExchangeRate,
} from 'portal-client'
import { client } from '../../kit/client.ts'
import { formatAmount } from '../../kit/format.ts'
import { AmountField, TextField } from '../../kit/forms.tsx'
import { t } from '../../kit/i18n.ts'
import { Table } from '../../kit/list.tsx'
import { Page, Section } from '../../kit/page.tsx'
import { useSession } from '../../kit/session.tsx'
import { Badge, Empty, QueryView } from '../../kit/states.tsx'
import { Time } from '../../kit/time.tsx'
import { Command, useMissing } from '../records/command.tsx'
import { ExportRows } from '../records/export-rows.tsx'
import { AccountLink } from '../records/links.tsx'

interface PendingRate extends NonNullable<ExchangeRate['pending']> {
  /** No operator has set the rate in force. The gateway removes both in one command. */
  isOnly: boolean
}

/** The exchange rates in force, and those that wait for a second operator. */
export default function Rates() {
  const query = useQuery({ queryKey: ['rates'], queryFn: () => client.call(listExchangeRates) })
  return (
    <Page title={t('rates.title')} actions={<SetRate />}>
      <QueryView query={query}>
        {(rates) => {
          const pending = rates.flatMap((rate) =>
            rate.pending === null ? [] : [{ ...rate.pending, isOnly: rate.updatedBy === null }],
          )
          const inForce = rates.filter(({ rate }) => rate !== null)
          return (
            <>
              {pending.length > 0 && (
                <Section title={t('rates.pending')}>
                  <PendingTable rates={pending} />
                </Section>
              )}
              {inForce.length === 0 ? <Empty title={t('rates.empty')} /> : <RateTable rates={inForce} />}
              {inForce.some(({ quoted }) => !quoted) && <p className="hint">{t('rates.withheldWhy')}</p>}
              <ExportRows name="exchange-rates" header={header} rows={() => inForce.map(rowOf)} />
            </>
          )
        }}
      </QueryView>
    </Page>
  )
}

function RateTable({ rates }: { rates: readonly ExchangeRate[] }) {
  return (
    <Table
      label={t('rates.title')}
      items={rates}
      keyOf={(rate) => pairOf(rate)}
      columns={[
        { title: t('rates.pair'), cell: (rate) => pairOf(rate) },
        { title: t('rates.rate'), align: 'end', cell: ({ rate }) => rate && formatAmount(rate) },
        {
          title: t('rates.quoted'),
          cell: ({ quoted }) => (
            <Badge tone={quoted ? 'good' : 'bad'}>{t(quoted ? 'rates.quotedYes' : 'rates.quotedNo')}</Badge>
          ),
        },
        { title: t('rates.setBy'), cell: ({ updatedBy }) => <SetBy id={updatedBy} /> },
        { title: t('rates.confirmedBy'), cell: ({ confirmedBy }) => <AccountLink id={confirmedBy} /> },
        {
          title: t('rates.expires'),
          cell: ({ expiresAt }) => <Time at={expiresAt} />,
        },
        { title: t('records.actions'), align: 'end', cell: (rate) => <Unset rate={rate} /> },
      ]}
    />
  )
}

function PendingTable({ rates }: { rates: readonly PendingRate[] }) {
  return (
    <Table
      label={t('rates.pending')}
      items={rates}
      keyOf={(rate) => pairOf(rate)}
      columns={[
        { title: t('rates.pair'), cell: (rate) => pairOf(rate) },
        { title: t('rates.rate'), align: 'end', cell: ({ rate }) => rate && formatAmount(rate) },
        { title: t('rates.setBy'), cell: ({ setBy }) => <AccountLink id={setBy} /> },
        { title: t('rates.setAt'), cell: ({ setAt }) => <Time at={setAt} /> },
        { title: t('rates.expires'), cell: ({ expiresAt }) => <Time at={expiresAt} /> },
        {
          title: t('records.actions'),
          align: 'end',
          cell: (rate) => (
            <span className="records-commands">
              <Confirm rate={rate} />
              {rate.isOnly && <Discard rate={rate} />}
            </span>
          ),
        },
      ]}
    />
  )
}

/** A rate that no operator set is of the configuration or of the service that provides rates. */
function SetBy({ id }: { id: string | null }) {
  return id === null ? t('rates.source') : <AccountLink id={id} />
}

function SetRate() {
  const blocked = useMissing('exchange-rate:manage')
  return (
    <Command
      label={t('rates.set')}
      question={t('rates.setQuestion')}
      run={(form) =>
        client.call(setExchangeRate, {
          body: {
            sourceCurrency: form('sourceCurrency').toUpperCase(),
            targetCurrency: form('targetCurrency').toUpperCase(),
            rate: form('rate'),
          },
        })
      }
      done={({ pending }) => t(pending === null ? 'rates.applied' : 'rates.waits')}
      blocked={blocked}
    >
      <TextField label={t('rates.from')} name="sourceCurrency" required autoComplete="off" spellCheck={false} />
      <TextField label={t('rates.to')} name="targetCurrency" required autoComplete="off" spellCheck={false} />
      <AmountField label={t('rates.rate')} name="rate" required hint={t('rates.rateHint')} />
    </Command>
  )
}

function Confirm({ rate }: { rate: PendingRate }) {
  const { accountId } = useSession()
  const { sourceCurrency, targetCurrency, rate: value } = rate
  const blocked = useMissing('exchange-rate:manage') ?? (rate.setBy === accountId ? t('rates.ownRate') : null)
  return (
    <Command
      label={t('rates.confirm')}
      question={t('rates.confirmQuestion', { pair: pairOf(rate), rate: value })}
      run={() => client.call(confirmExchangeRate, { body: { sourceCurrency, targetCurrency, rate: value } })}
      done={t('rates.confirmed')}
      blocked={blocked}
    />
  )
}

function Discard({ rate }: { rate: PendingRate }) {
  const missing = useMissing('exchange-rate:manage')
  const { sourceCurrency, targetCurrency } = rate
  return (
    <Command
      label={t('rates.discard')}
      question={t('rates.discardQuestion', { pair: pairOf(rate), rate: rate.rate })}
      run={() => client.call(unsetExchangeRate, { body: { sourceCurrency, targetCurrency } })}
      done={t('rates.discarded')}
      blocked={missing}
      tone="danger"
    />
  )
}

function Unset({ rate }: { rate: ExchangeRate }) {
  const missing = useMissing('exchange-rate:manage')
  const { accountId } = useSession()
  const { sourceCurrency, targetCurrency, updatedBy, confirmedBy } = rate
  const isOwn = accountId === updatedBy || accountId === confirmedBy
  if (updatedBy === null) return t('records.nobody')
  return (
    <Command
      label={t('rates.unset')}
      question={t('rates.unsetQuestion', { pair: pairOf(rate) })}
      run={() => client.call(unsetExchangeRate, { body: { sourceCurrency, targetCurrency } })}
      done={t('rates.removed')}
      blocked={missing}
      tone="danger"
    >
      {isOwn && <p className="hint">{t('rates.ownRemoval')}</p>}
    </Command>
  )
}

function pairOf({ sourceCurrency, targetCurrency }: { sourceCurrency: string; targetCurrency: string }): string {
  return `${sourceCurrency} → ${targetCurrency}`
}

const header = ['sourceCurrency', 'targetCurrency', 'rate', 'quoted', 'updatedBy', 'confirmedBy', 'expiresAt']

function rowOf({ sourceCurrency, targetCurrency, rate, quoted, updatedBy, confirmedBy, expiresAt }: ExchangeRate) {
  return [sourceCurrency, targetCurrency, rate, String(quoted), updatedBy, confirmedBy, expiresAt]
}
