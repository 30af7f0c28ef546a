import { useQuery } from '@tanstack/react-query'
import { readWallet, type Wallet } from 'portal-client'
import { Link } from 'wouter'
import { client } from '../../kit/client.ts'
import { formatMoney } from '../../kit/format.ts'
import { t } from '../../kit/i18n.ts'
import { Page, Section } from '../../kit/page.tsx'
import { useParameter } from '../../kit/pages.tsx'
import { useSession } from '../../kit/session.tsx'
import { QueryView } from '../../kit/states.tsx'
import { useBalance, walletLabel } from '../orders/wallets.tsx'
import { useWorkspace } from '../workspace.tsx'
import { Flows } from './flows.tsx'

/** A wallet with its balance and flows. */
export default function WalletPage() {
  const walletId = useParameter('walletId')
  const workspaceId = useWorkspace().workspace.workspaceBizId
  const query = useQuery({
    queryKey: ['wallet', workspaceId, walletId],
    queryFn: () => client.call(readWallet, { workspaceId, params: { wallet_id: walletId } }),
  })
  const { data } = query
  return (
    <Page title={data ? walletLabel(data) : t('wallets.title')} actions={data && <Actions wallet={data} />}>
      <QueryView query={query}>
        {(wallet) => (
          <>
            {wallet.walletStatus.code !== 'ACTIVE' && (
              <p className="notice">{t('wallets.inactive', { status: wallet.walletStatus.label })}</p>
            )}
            <BalanceView wallet={wallet} />
            <p className="hint">
              {t('orders.walletId')} <code>{wallet.bizId}</code>
            </p>
            <Section title={t('wallets.flows')}>
              <Flows wallet={wallet} />
            </Section>
          </>
        )}
      </QueryView>
    </Page>
  )
}

function BalanceView({ wallet }: { wallet: Wallet }) {
  const query = useBalance(wallet)
  return (
    <section className="section" aria-label={t('wallets.balance')}>
      <QueryView query={query}>
        {({ availableBalance, heldBalance, totalBalance, currency }) => (
          <dl className="wallets-balance">
            <Figure label={t('wallets.available')} amount={availableBalance} currency={currency} isMain />
            <Figure label={t('wallets.held')} amount={heldBalance} currency={currency} />
            <Figure label={t('wallets.total')} amount={totalBalance} currency={currency} />
          </dl>
        )}
      </QueryView>
    </section>
  )
}

interface FigureProps {
  label: string
  amount: string
  currency: string
  isMain?: boolean
}

function Figure({ label, amount, currency, isMain = false }: FigureProps) {
  return (
    <div>
      <dt className="hint">{label}</dt>
      <dd className={isMain ? 'figure' : 'wallets-figure'}>{formatMoney(amount, currency)}</dd>
    </div>
  )
}

function Actions({ wallet: { bizId, walletStatus } }: { wallet: Wallet }) {
  const { permissions } = useSession()
  if (walletStatus.code !== 'ACTIVE') return null
  return (
    <>
      {permissions.has('transfer:create') && (
        <Link className="button" href={`/transfers/new?source=${bizId}`}>
          {t('wallets.transfer')}
        </Link>
      )}
      {permissions.has('recharge:create') && (
        <Link className="button" href={`/recharges/new?wallet=${bizId}`}>
          {t('wallets.recharge')}
        </Link>
      )}
    </>
  )
}
