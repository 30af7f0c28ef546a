import { useQuery } from '@tanstack/react-query'
import { createWallet, listWallets, type Wallet } from 'portal-client'
import { Link } from 'wouter'
import { client } from '../../kit/client.ts'
import { Command } from '../../kit/command/command.tsx'
import { formatMoney } from '../../kit/format.ts'
import { TextField, type Values } from '../../kit/forms.tsx'
import { t } from '../../kit/i18n.ts'
import { Page } from '../../kit/page.tsx'
import { Badge, Empty, QueryView } from '../../kit/states.tsx'
import { useBalance } from '../orders/wallets.tsx'
import { Permitted } from '../permissions/permissions.tsx'
import { useWorkspace } from '../workspace.tsx'

/** The wallets of the workspace with their balances. */
export default function Wallets() {
  const { workspace } = useWorkspace()
  const workspaceId = workspace.workspaceBizId
  const query = useQuery({
    queryKey: ['wallets', workspaceId],
    queryFn: () => client.call(listWallets, { workspaceId }),
  })
  return (
    <Page title={t('wallets.title')} actions={<OpenWallet workspaceId={workspaceId} />}>
      <QueryView query={query}>
        {(wallets) =>
          wallets.length === 0 ? (
            <Empty title={t('wallets.empty')} />
          ) : (
            <div className="cards">
              {wallets.map((wallet) => (
                <WalletCard key={wallet.bizId} wallet={wallet} />
              ))}
            </div>
          )
        }
      </QueryView>
    </Page>
  )
}

function WalletCard({ wallet }: { wallet: Wallet }) {
  const { bizId, walletName, walletStatus, currency } = wallet
  const query = useBalance(wallet)
  return (
    <article className="card">
      <h2>
        <Link href={`/wallets/${bizId}`}>{walletName}</Link>
      </h2>
      <QueryView query={query}>
        {({ availableBalance }) => (
          <div>
            <p className="hint">{t('wallets.available')}</p>
            <p className="figure">{formatMoney(availableBalance, currency)}</p>
          </div>
        )}
      </QueryView>
      {walletStatus.code !== 'ACTIVE' && <Badge tone="waiting">{walletStatus.label}</Badge>}
    </article>
  )
}

function OpenWallet({ workspaceId }: { workspaceId: string }) {
  const run = (values: Values): Promise<unknown> => {
    const walletName = values('walletName') || null
    return client.call(createWallet, { workspaceId, body: { currency: values('currency').toUpperCase(), walletName } })
  }
  return (
    <Permitted permission="wallet:create">
      <Command label={t('wallets.open')} title={t('wallets.open')} done={t('wallets.opened')} tone="primary" run={run}>
        <TextField label={t('wallets.currency')} name="currency" hint={t('wallets.currencyHint')} required />
        <TextField label={t('wallets.name')} name="walletName" hint={t('orders.optional')} />
      </Command>
    </Permitted>
  )
}
