import { type Flow, listFlows, type Wallet } from 'portal-client'
import { flowDirectionCodes } from 'portico-client/forms'
import { Link } from 'wouter'
import { client } from '../../kit/client.ts'
import { ChoiceFilter, Filters, useChoice } from '../../kit/filters.tsx'
import { formatAmount } from '../../kit/format.ts'
import { t } from '../../kit/i18n.ts'
import { ListQuery, Table } from '../../kit/list.tsx'
import { Time } from '../../kit/time.tsx'
import { IntervalFilter, useInterval } from '../orders/filters.tsx'

/** The movements on a wallet, newest first. */
export function Flows({ wallet: { bizId, workspaceBizId: workspaceId, currency } }: { wallet: Wallet }) {
  const { startTime, endTime } = useInterval()
  const direction = useChoice('direction', flowDirectionCodes)
  return (
    <>
      <Filters>
        <IntervalFilter />
        <ChoiceFilter
          name="direction"
          label={t('wallets.direction')}
          options={[
            { value: '', label: t('wallets.anyDirection') },
            ...flowDirectionCodes.map((value) => ({ value, label: t(`wallets.direction_${value}`) })),
          ]}
        />
      </Filters>
      <ListQuery
        queryKey={['flows', bizId, startTime, endTime, direction]}
        read={(before) =>
          client.call(listFlows, {
            workspaceId,
            params: { wallet_id: bizId },
            query: { before, startTime, endTime, direction },
          })
        }
        empty={t('wallets.noFlows')}
      >
        {(flows) => (
          <Table
            label={t('wallets.flows')}
            items={flows}
            keyOf={(flow) => flow.bizId}
            columns={[
              { title: t('wallets.time'), cell: ({ createdAt }) => <Time at={createdAt} /> },
              { title: t('wallets.type'), cell: (flow) => <Order flow={flow} /> },
              { title: t('wallets.description'), cell: ({ description }) => description ?? t('orders.none') },
              { title: `${t('orders.amount')} (${currency})`, align: 'end', cell: (flow) => <Signed flow={flow} /> },
              {
                title: `${t('wallets.balanceAfter')} (${currency})`,
                align: 'end',
                cell: ({ balanceAfter }) => formatAmount(balanceAfter),
              },
            ]}
          />
        )}
      </ListQuery>
    </>
  )
}

/** Pages of orders, by the type of the order. */
const paths: Readonly<Record<string, string>> = {
  TRANSFER: '/transfers',
  RECHARGE: '/recharges',
  WITHDRAWAL: '/withdrawals',
  EXCHANGE: '/exchanges',
}

function Order({ flow: { flowType, orderType, orderBizId } }: { flow: Flow }) {
  const path = orderType === null ? undefined : paths[orderType]
  if (path === undefined || orderBizId === null) return flowType.label
  return <Link href={`${path}/${orderBizId}`}>{flowType.label}</Link>
}

function Signed({ flow: { direction, amount } }: { flow: Flow }) {
  const isIn = direction.code === 'IN'
  return <span className={isIn ? 'wallets-in' : undefined}>{`${isIn ? '+' : '−'}${formatAmount(amount)}`}</span>
}
