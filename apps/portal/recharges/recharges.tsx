import { listRecharges } from 'portal-client'
import { rechargeStatusCodes } from 'portico-client/forms'
import { Link } from 'wouter'
import { client } from '../../kit/client.ts'
import { formatMoney } from '../../kit/format.ts'
import { t } from '../../kit/i18n.ts'
import { ListQuery, Table } from '../../kit/list.tsx'
import { Page } from '../../kit/page.tsx'
import { Time } from '../../kit/time.tsx'
import {
  Filters,
  InputFilter,
  IntervalFilter,
  StatusFilter,
  useFilter,
  useInterval,
  WalletFilter,
} from '../orders/filters.tsx'
import { StatusBadge } from '../orders/status.tsx'
import { WalletName } from '../orders/wallets.tsx'
import { Permitted } from '../permissions/permissions.tsx'
import { useWorkspace } from '../workspace.tsx'

/** The incoming payments of the workspace. */
export default function Recharges() {
  return (
    <Page title={t('recharges.title')} actions={<NewRecharge />}>
      <Filters>
        <StatusFilter codes={rechargeStatusCodes} />
        <WalletFilter />
        <IntervalFilter />
        <InputFilter name="order" label={t('orders.orderNo')} type="search" />
      </Filters>
      <List />
    </Page>
  )
}

function NewRecharge() {
  return (
    <Permitted permission="recharge:create">
      <Link className="button primary" href="/recharges/new">
        {t('recharges.new')}
      </Link>
    </Permitted>
  )
}

function List() {
  const workspaceId = useWorkspace().workspace.workspaceBizId
  const { startTime, endTime } = useInterval()
  const [status] = useFilter('status')
  const [walletId] = useFilter('wallet')
  const [orderNo] = useFilter('order')
  const rechargeStatus = rechargeStatusCodes.find((code) => code === status)
  const filter = { rechargeStatus, walletId, startTime, endTime, orderNo }
  return (
    <ListQuery
      queryKey={['recharges', workspaceId, filter]}
      read={(before) => client.call(listRecharges, { workspaceId, query: { before, ...filter } })}
      empty={t('recharges.empty')}
    >
      {(recharges) => (
        <Table
          label={t('recharges.title')}
          items={recharges}
          keyOf={({ bizId }) => bizId}
          columns={[
            {
              title: t('orders.orderNo'),
              cell: ({ bizId, orderNo: name }) => <Link href={`/recharges/${bizId}`}>{name}</Link>,
            },
            { title: t('orders.created'), cell: ({ createdAt }) => <Time at={createdAt} /> },
            { title: t('orders.wallet'), cell: ({ walletBizId }) => <WalletName id={walletBizId} /> },
            { title: t('orders.status'), cell: (recharge) => <StatusBadge status={recharge.rechargeStatus} /> },
            { title: t('orders.amount'), align: 'end', cell: ({ amount, currency }) => formatMoney(amount, currency) },
            {
              title: t('recharges.credited'),
              align: 'end',
              cell: ({ netAmount, currency }) => formatMoney(netAmount, currency),
            },
          ]}
        />
      )}
    </ListQuery>
  )
}
