import { useQuery } from '@tanstack/react-query'
import { listWallets, readBalance, type Wallet } from 'portal-client'
import { useState } from 'react'
import { Link } from 'wouter'
import { client } from '../../kit/client.ts'
import { formatMoney } from '../../kit/format.ts'
import { SelectField, TextField } from '../../kit/forms.tsx'
import { t } from '../../kit/i18n.ts'
import { usePermission } from '../../kit/session.tsx'
import { useWorkspace } from '../workspace.tsx'

interface Wallets {
  /** Empty until they are known, and for users who cannot read them. */
  wallets: readonly Wallet[]
  isPending: boolean
}

export function useWallets(): Wallets {
  const workspaceId = useWorkspace().workspace.workspaceBizId
  const isAllowed = usePermission('wallet:read')
  const { data, isPending } = useQuery({
    queryKey: ['wallets', workspaceId],
    queryFn: () => client.call(listWallets, { workspaceId }),
    enabled: isAllowed,
  })
  return { wallets: data ?? [], isPending: isAllowed && isPending }
}

export function walletLabel({ walletName, currency }: Pick<Wallet, 'walletName' | 'currency'>): string {
  return walletName.includes(currency) ? walletName : `${walletName} (${currency})`
}

/** A link with the name, or the id of a wallet of another workspace. */
export function WalletName({ id }: { id: string }) {
  const wallet = useWallets().wallets.find(({ bizId }) => bizId === id)
  return wallet ? <Link href={`/wallets/${id}`}>{walletLabel(wallet)}</Link> : <code>{id}</code>
}

interface WalletFieldProps {
  label: string
  name: string
  /** Which wallets to offer. Default: all active ones. */
  isOffered?: (wallet: Wallet) => boolean
  defaultValue?: string | undefined
  onChange?: (wallet: Wallet | undefined) => void
}

/** A choice of an active wallet, with its available balance. Users who cannot read wallets enter an id. */
export function WalletField({ label, name, isOffered = () => true, defaultValue, onChange }: WalletFieldProps) {
  const { wallets } = useWallets()
  const [chosen, setChosen] = useState<string | null>(null)
  const offered = wallets.filter((wallet) => wallet.walletStatus.code === 'ACTIVE' && isOffered(wallet))
  if (!usePermission('wallet:read')) return <TextField label={label} name={name} required />
  const selected =
    offered.find(({ bizId }) => bizId === (chosen ?? defaultValue)) ?? offered.find(({ isDefault }) => isDefault)
  const current = selected ?? offered[0]
  return (
    <SelectField
      key={offered.length}
      label={label}
      name={name}
      defaultValue={current?.bizId}
      options={offered.map((wallet) => ({ value: wallet.bizId, label: walletLabel(wallet) }))}
      required
      hint={current && <Available wallet={current} />}
      onChange={(id) => {
        setChosen(id)
        onChange?.(wallets.find(({ bizId }) => bizId === id))
      }}
    />
  )
}

export function useBalance({ bizId, workspaceBizId: workspaceId }: Pick<Wallet, 'bizId' | 'workspaceBizId'>) {
  return useQuery({
    queryKey: ['balance', bizId],
    queryFn: () => client.call(readBalance, { workspaceId, params: { wallet_id: bizId } }),
  })
}

function Available({ wallet }: { wallet: Wallet }) {
  const { data } = useBalance(wallet)
  return data ? t('orders.available', { amount: formatMoney(data.availableBalance, data.currency) }) : null
}
