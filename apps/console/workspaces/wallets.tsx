import { useQuery } from '@tanstack/react-query'
import { closeWallet, freezeWallet, listWalletsOf, unfreezeWallet, type WalletsOf } from 'portal-client'
import { Link } from 'wouter'
import { client } from '../../kit/client.ts'
import { formatAmount } from '../../kit/format.ts'
import { t } from '../../kit/i18n.ts'
import { type Column, Table } from '../../kit/list.tsx'
import { usePermission } from '../../kit/session.tsx'
import { QueryView } from '../../kit/states.tsx'
import { Command, useMissing } from '../records/command.tsx'
import { ActiveBadge } from './status.tsx'

/** The wallets of a workspace. Operators freeze and close them. Only those who read the ledger see balances. */
export function Wallets({ workspaceId }: { workspaceId: string }) {
  const query = useQuery({
    queryKey: ['wallets', workspaceId],
    queryFn: () => client.call(listWalletsOf, { params: { workspace_id: workspaceId } }),
  })
  const balances: Column<WalletsOf>[] = [
    {
      title: t('workspaces.available'),
      align: 'end',
      cell: ({ balance }) => formatAmount(balance?.availableBalance ?? '–'),
    },
    {
      title: t('workspaces.held'),
      align: 'end',
      cell: ({ balance }) => formatAmount(balance?.heldBalance ?? '–'),
    },
  ]
  const maySeeBalances = usePermission('ledger:read')
  return (
    <QueryView query={query}>
      {(wallets) => (
        <Table
          label={t('workspaces.wallets')}
          items={wallets}
          keyOf={({ bizId }) => bizId}
          columns={[
            { title: t('workspaces.wallet'), cell: ({ walletName }) => walletName },
            { title: t('workspaces.currency'), cell: ({ currency }) => currency },
            ...(maySeeBalances ? balances : []),
            { title: t('workspaces.status'), cell: ({ walletStatus }) => <ActiveBadge status={walletStatus} /> },
            {
              title: t('records.id'),
              cell: ({ bizId }) => (
                <Link href={`/orders?walletId=${bizId}`}>
                  <code>{bizId}</code>
                </Link>
              ),
            },
            { title: t('records.actions'), align: 'end', cell: (wallet) => <WalletCommands wallet={wallet} /> },
          ]}
        />
      )}
    </QueryView>
  )
}

function WalletCommands({ wallet: { bizId, walletName, walletStatus } }: { wallet: WalletsOf }) {
  const freezing = useMissing('wallet:freeze')
  const closing = useMissing('wallet:close')
  const params = { wallet_id: bizId }
  const values = { name: walletName }
  if (walletStatus.code === 'CLOSED') return t('workspaces.walletFinal')
  if (walletStatus.code === 'ACTIVE')
    return (
      <Command
        label={t('workspaces.freezeWallet')}
        question={t('workspaces.freezeWalletQuestion', values)}
        run={(form) => client.call(freezeWallet, { params, body: { reason: form('reason') } })}
        done={t('workspaces.walletFrozen')}
        blocked={freezing}
        tone="danger"
        asksReason
      />
    )
  return (
    <span className="records-commands">
      <Command
        label={t('workspaces.unfreezeWallet')}
        question={t('workspaces.unfreezeWalletQuestion', values)}
        run={(form) => client.call(unfreezeWallet, { params, body: { reason: form('reason') } })}
        done={t('workspaces.walletUnfrozen')}
        blocked={freezing}
        asksReason
      />
      <Command
        label={t('workspaces.closeWallet')}
        question={t('workspaces.closeWalletQuestion', values)}
        run={(form) => client.call(closeWallet, { params, body: { reason: form('reason') } })}
        done={t('workspaces.walletClosed')}
        blocked={closing}
        tone="danger"
        asksReason
      />
    </span>
  )
}
