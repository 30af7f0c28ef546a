import { useQuery } from '@tanstack/react-query'
import { createWithdrawalChannel, listCountries } from 'portal-client'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { refreshData } from '../../kit/app.tsx'
import { client } from '../../kit/client.ts'
import { Form, SelectField, TextField, type Values } from '../../kit/forms.tsx'
import { locale, t } from '../../kit/i18n.ts'
import { Page } from '../../kit/page.tsx'
import { notify } from '../../kit/toasts.tsx'
import { useWallets } from '../orders/wallets.tsx'
import { useWorkspace } from '../workspace.tsx'

const types = ['BANK', 'CRYPTO'] as const

/** Registers an account for payouts. An operator verifies it. */
export default function NewAccount() {
  const workspaceId = useWorkspace().workspace.workspaceBizId
  const [, navigate] = useLocation()
  const [type, setType] = useState<(typeof types)[number]>('BANK')
  const submit = async (values: Values): Promise<void> => {
    const body = {
      channelType: type,
      currency: values('currency').toUpperCase(),
      country: values('country'),
      accountHolderName: values('accountHolderName'),
      accountNumber: values('accountNumber'),
      ...(type === 'BANK' ? { bankCode: values('bankCode') } : { network: values('network') }),
    }
    await client.call(createWithdrawalChannel, { workspaceId, body })
    notify(t('withdrawals.registered'))
    await refreshData()
    navigate('/payout-accounts')
  }
  return (
    <Page title={t('withdrawals.register')}>
      <section className="section">
        <Form submit={t('withdrawals.register')} onSubmit={submit}>
          <SelectField
            label={t('withdrawals.type')}
            name="channelType"
            options={types.map((value) => ({ value, label: t(`withdrawals.type_${value}`) }))}
            onChange={(value) => setType(types.find((each) => each === value) ?? 'BANK')}
          />
          <CurrencyField />
          <CountryField />
          <TextField label={t('withdrawals.holder')} name="accountHolderName" autoComplete="name" required />
          <TextField label={t(`withdrawals.number_${type}`)} name="accountNumber" autoComplete="off" required />
          {type === 'BANK' ? (
            <TextField label={t('withdrawals.bankCode')} name="bankCode" autoComplete="off" required />
          ) : (
            <TextField label={t('withdrawals.network')} name="network" autoComplete="off" required />
          )}
        </Form>
      </section>
    </Page>
  )
}

/** The currencies of the wallets, from which payouts are made. */
function CurrencyField() {
  const currencies = [...new Set(useWallets().wallets.map(({ currency }) => currency))]
  if (currencies.length === 0) return <TextField label={t('withdrawals.currency')} name="currency" required />
  return (
    <SelectField
      label={t('withdrawals.currency')}
      name="currency"
      options={currencies.map((currency) => ({ value: currency, label: currency }))}
    />
  )
}

function CountryField() {
  const { data = [] } = useQuery({
    queryKey: ['countries'],
    queryFn: () => client.call(listCountries),
    staleTime: Number.POSITIVE_INFINITY,
  })
  const options = data.map(({ alpha2Code, label }) => ({ value: alpha2Code, label }))
  options.sort((one, other) => one.label.localeCompare(other.label, locale))
  return (
    <SelectField
      label={t('withdrawals.country')}
      name="country"
      options={[{ value: '', label: t('orders.none') }, ...options]}
      required
    />
  )
}
