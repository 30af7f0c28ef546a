import { useQuery } from '@tanstack/react-query'
import { listWithdrawalChannels, reactivateWithdrawalChannel, type WithdrawalChannel } from 'portal-client'
import { Link } from 'wouter'
import { client } from '../../kit/client.ts'
import { Command } from '../../kit/command/command.tsx'
import { nameOfCode } from '../../kit/format.ts'
import { t } from '../../kit/i18n.ts'
import { Table } from '../../kit/list.tsx'
import { Page } from '../../kit/page.tsx'
import { usePermission } from '../../kit/session.tsx'
import { Empty, QueryView } from '../../kit/states.tsx'
import { Time } from '../../kit/time.tsx'
import { StatusBadge } from '../orders/status.tsx'
import { Permitted } from '../permissions/permissions.tsx'
import { useWorkspace } from '../workspace.tsx'

/** The payout accounts of the workspace with their states. */
export default function Accounts() {
  const query = useAccounts()
  return (
    <Page title={t('withdrawals.accounts')} actions={<Register />}>
      <QueryView query={query}>
        {(accounts) =>
          accounts.length === 0 ? <Empty title={t('withdrawals.noAccounts')} /> : <AccountTable accounts={accounts} />
        }
      </QueryView>
    </Page>
  )
}

/** All payout accounts of the workspace. For users without the permission, the query stays idle. */
export function useAccounts() {
  const workspaceId = useWorkspace().workspace.workspaceBizId
  return useQuery({
    queryKey: ['payout-accounts', workspaceId],
    queryFn: () => client.call(listWithdrawalChannels, { workspaceId }),
    enabled: usePermission('withdrawal-channel:read'),
  })
}

export function accountLabel({ maskedAccount, accountHolderName, currency }: WithdrawalChannel): string {
  return `${maskedAccount} (${currency}), ${accountHolderName}`
}

function Register() {
  return (
    <Permitted permission="withdrawal-channel:manage">
      <Link className="button primary" href="/payout-accounts/new">
        {t('withdrawals.register')}
      </Link>
    </Permitted>
  )
}

function AccountTable({ accounts }: { accounts: readonly WithdrawalChannel[] }) {
  const hasSuspended = accounts.some(isSuspended)
  return (
    <Table
      label={t('withdrawals.accounts')}
      items={accounts}
      keyOf={({ bizId }) => bizId}
      columns={[
        { title: t('withdrawals.account'), cell: ({ maskedAccount }) => <code>{maskedAccount}</code> },
        { title: t('withdrawals.holder'), cell: ({ accountHolderName }) => accountHolderName },
        { title: t('withdrawals.type'), cell: ({ channelType }) => channelType.label },
        { title: t('withdrawals.currency'), cell: ({ currency }) => currency },
        { title: t('withdrawals.country'), cell: ({ country }) => nameOfCode('region', country) },
        { title: t('orders.status'), cell: (account) => <State account={account} /> },
        { title: t('orders.created'), cell: ({ createdAt }) => <Time at={createdAt} /> },
        ...(hasSuspended
          ? [
              {
                title: t('withdrawals.action'),
                cell: (account: WithdrawalChannel) => isSuspended(account) && <Reactivate account={account} />,
              },
            ]
          : []),
      ]}
    />
  )
}

function State({ account: { channelStatus, rejectReason } }: { account: WithdrawalChannel }) {
  return (
    <div>
      <StatusBadge status={channelStatus} />
      {rejectReason !== null && <p className="hint">{rejectReason}</p>}
    </div>
  )
}

function Reactivate({ account }: { account: WithdrawalChannel }) {
  const { bizId, workspaceBizId: workspaceId } = account
  return (
    <Permitted permission="withdrawal-channel:manage">
      <Command
        label={t('withdrawals.reactivate')}
        title={t('withdrawals.reactivateQuestion')}
        done={t('withdrawals.reactivated')}
        tone="primary"
        run={() => client.call(reactivateWithdrawalChannel, { workspaceId, params: { withdrawal_channel_id: bizId } })}
      >
        <p>{t('withdrawals.suspended')}</p>
        <p>{accountLabel(account)}</p>
      </Command>
    </Permitted>
  )
}

function isSuspended({ channelStatus }: WithdrawalChannel): boolean {
  return channelStatus.code === 'SUSPENDED'
}
