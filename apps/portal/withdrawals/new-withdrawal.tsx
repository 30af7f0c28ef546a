import { createWithdrawal, type Wallet, type WithdrawalChannel } from 'portal-client'
import { useState } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'
import { refreshData } from '../../kit/app.tsx'
import { client } from '../../kit/client.ts'
import { AmountField, Form, SelectField, TextField, type Values } from '../../kit/forms.tsx'
import { t } from '../../kit/i18n.ts'
import { Page } from '../../kit/page.tsx'
import { Loading, QueryView } from '../../kit/states.tsx'
import { notify } from '../../kit/toasts.tsx'
import { useWallets, WalletField } from '../orders/wallets.tsx'
import { Permitted } from '../permissions/permissions.tsx'
import { useWorkspace } from '../workspace.tsx'
import { accountLabel, useAccounts } from './accounts.tsx'

/** Requests a payout to a verified account. */
export default function NewWithdrawal() {
  const { wallets, isPending } = useWallets()
  const accounts = useAccounts()
  const [search] = useSearchParams()
  if (isPending) return <Loading />
  const first = wallets.find(({ bizId }) => bizId === search.get('wallet')) ?? wallets.find((each) => each.isDefault)
  return (
    <Page title={t('withdrawals.new')}>
      <section className="section">
        <QueryView query={accounts}>
          {(found) => <PayoutForm accounts={found.filter(isActive)} first={first ?? wallets[0]} />}
        </QueryView>
      </section>
    </Page>
  )
}

interface FormProps {
  accounts: readonly WithdrawalChannel[]
  first: Wallet | undefined
}

function PayoutForm({ accounts, first }: FormProps) {
  const workspaceId = useWorkspace().workspace.workspaceBizId
  const [, navigate] = useLocation()
  const [wallet, setWallet] = useState(first)
  const offered = accounts.filter(({ currency }) => wallet === undefined || currency === wallet.currency)
  const submit = async (values: Values): Promise<void> => {
    const body = {
      walletBizId: values('walletBizId'),
      withdrawalChannelBizId: values('withdrawalChannelBizId'),
      amount: values('amount'),
      remark: values('remark') || null,
    }
    const { bizId } = await client.call(createWithdrawal, { workspaceId, body })
    notify(t('withdrawals.made'))
    await refreshData()
    navigate(`/withdrawals/${bizId}`)
  }
  return (
    <Form submit={t('withdrawals.submit')} onSubmit={submit} isBlocked={offered.length === 0}>
      <WalletField label={t('orders.wallet')} name="walletBizId" defaultValue={first?.bizId} onChange={setWallet} />
      {offered.length === 0 ? (
        <NoAccount />
      ) : (
        <SelectField
          key={wallet?.currency}
          label={t('withdrawals.account')}
          name="withdrawalChannelBizId"
          options={offered.map((account) => ({ value: account.bizId, label: accountLabel(account) }))}
          required
        />
      )}
      <AmountField
        label={t('orders.amount')}
        name="amount"
        currency={wallet?.currency}
        hint={t('withdrawals.feeHint')}
        required
      />
      <TextField label={t('orders.remark')} name="remark" hint={t('orders.optional')} maxLength={256} />
    </Form>
  )
}

function NoAccount() {
  return (
    <div className="notice">
      <p>{t('withdrawals.noAccount')}</p>
      <Permitted permission="withdrawal-channel:manage">
        <Link href="/payout-accounts/new">{t('withdrawals.register')}</Link>
      </Permitted>
    </div>
  )
}

function isActive({ channelStatus }: WithdrawalChannel): boolean {
  return channelStatus.code === 'ACTIVE'
}
