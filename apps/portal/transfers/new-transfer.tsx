import { createTransfer, type Wallet } from 'portal-client'
import { useState } from 'react'
import { useLocation, useSearchParams } from 'wouter'
import { refreshData } from '../../kit/app.tsx'
import { client } from '../../kit/client.ts'
import { AmountField, Form, SelectField, TextField, type Values } from '../../kit/forms.tsx'
import { t } from '../../kit/i18n.ts'
import { Page } from '../../kit/page.tsx'
import { Loading } from '../../kit/states.tsx'
import { notify } from '../../kit/toasts.tsx'
import { useWallets, WalletField, walletLabel } from '../orders/wallets.tsx'
import { useWorkspace } from '../workspace.tsx'

/** Sends money to a wallet of the workspace, or to another one by its id. */
export default function NewTransfer() {
  const { wallets, isPending } = useWallets()
  const [search] = useSearchParams()
  if (isPending) return <Loading />
  const source =
    wallets.find(({ bizId }) => bizId === search.get('source')) ?? wallets.find(({ isDefault }) => isDefault)
  return (
    <Page title={t('transfers.new')}>
      <TransferForm wallets={wallets} first={source ?? wallets[0]} />
    </Page>
  )
}

function TransferForm({ wallets, first }: { wallets: readonly Wallet[]; first: Wallet | undefined }) {
  const workspaceId = useWorkspace().workspace.workspaceBizId
  const [, navigate] = useLocation()
  const [source, setSource] = useState(first)
  const submit = async (values: Values): Promise<void> => {
    const body = {
      sourceWalletBizId: values('sourceWalletBizId'),
      targetWalletBizId: values('targetWalletBizId') || values('ownWallet'),
      amount: values('amount'),
      currency: source?.currency ?? values('currency'),
      remark: values('remark') || null,
      clientReference: values('clientReference') || null,
    }
    const { bizId } = await client.call(createTransfer, { workspaceId, body })
    notify(t('transfers.made'))
    await refreshData()
    navigate(`/transfers/${bizId}`)
  }
  return (
    <section className="section">
      <Form submit={t('transfers.submit')} onSubmit={submit}>
        <WalletField
          label={t('transfers.source')}
          name="sourceWalletBizId"
          defaultValue={first?.bizId}
          onChange={setSource}
        />
        <TargetField key={source?.bizId} wallets={wallets} source={source} />
        {!source && <TextField label={t('wallets.currency')} name="currency" required />}
        <AmountField label={t('orders.amount')} name="amount" currency={source?.currency} required />
        <TextField
          label={t('transfers.reference')}
          name="clientReference"
          hint={t('transfers.referenceHint')}
          maxLength={64}
        />
        <TextField label={t('orders.remark')} name="remark" hint={t('orders.optional')} maxLength={256} />
      </Form>
    </section>
  )
}

const other = 'other'

/** Another wallet in the currency of the source, or the id of one. */
function TargetField({ wallets, source }: { wallets: readonly Wallet[]; source: Wallet | undefined }) {
  const own = wallets.filter(
    ({ bizId, currency, walletStatus }) =>
      bizId !== source?.bizId && currency === source?.currency && walletStatus.code === 'ACTIVE',
  )
  const [chosen, setChosen] = useState(own[0]?.bizId ?? other)
  return (
    <>
      {own.length > 0 && (
        <SelectField
          label={t('transfers.target')}
          name="ownWallet"
          defaultValue={chosen}
          onChange={setChosen}
          options={[
            ...own.map((wallet) => ({ value: wallet.bizId, label: walletLabel(wallet) })),
            { value: other, label: t('transfers.otherWallet') },
          ]}
        />
      )}
      {chosen === other && (
        <TextField
          label={t('transfers.targetId')}
          name="targetWalletBizId"
          hint={t('transfers.targetIdHint')}
          autoComplete="off"
          required
        />
      )}
    </>
  )
}
