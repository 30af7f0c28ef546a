import { useQuery } from '@tanstack/react-query'
import { listWallets, readBalance, type Wallet } from 'portal-client'
import { Link } from 'wouter'
import { client } from '../../kit/client.ts'
import { formatMoney } from '../../kit/format.ts'
import { t } from '../../kit/i18n.ts'
import { Page } from '../../kit/page.tsx'
import { Badge, Empty, QueryView } from '../../kit/states.tsx'
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
    <Page title={t('wallets.title')}>
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

function WalletCard({ wallet: { bizId, workspaceBizId, walletName, walletStatus, currency } }: { wallet: Wallet }) {
  const query = useQuery({
    queryKey: ['balance', bizId],
    queryFn: () => client.call(readBalance, { workspaceId: workspaceBizId, params: { wallet_id: bizId } }),
  })
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
