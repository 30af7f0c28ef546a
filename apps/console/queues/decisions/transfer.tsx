import {
  type AnyTransfer,
  approveTransfer,
  listAllTransfers,
  listPendingTransfers,
  readAnyTransfer,
  rejectTransfer,
} from 'portal-client'
import { client } from '../../../kit/client.ts'
import { Facts } from '../../../kit/facts.tsx'
import { formatMoney } from '../../../kit/format.ts'
import { TextAreaField } from '../../../kit/forms.tsx'
import { t } from '../../../kit/i18n.ts'
import { Section } from '../../../kit/page.tsx'
import { useParameter } from '../../../kit/pages.tsx'
import { Age, Time } from '../../../kit/time.tsx'
import { type Choice, Decide } from '../parts/decide.tsx'
import { dutyOf, frozenObjections, useObjections } from '../parts/four-eyes.ts'
import { ItemPage, NextItem } from '../parts/item-page.tsx'
import { Person } from '../parts/people.tsx'
import { History, MarkedWorkspace, Postings, StatusBadge } from '../parts/records.tsx'

/** A transfer, and the decision on it. The parameter is its number or its id. */
export default function TransferPage() {
  const id = useParameter('id')
  return (
    <ItemPage
      queryKey={['transfer', id]}
      read={() => findTransfer(id)}
      titleOf={({ orderNo }) => orderNo}
      list={{ path: '/queues/transfers', title: 'queues.transfers' }}
      nextOf={({ bizId, createdAt }) => (
        <NextItem
          id={bizId}
          createdAt={createdAt}
          read={async (query) => {
            const { items } = await client.call(listPendingTransfers, { query })
            return items.map(({ bizId: next }) => ({ bizId: next, path: `/queues/transfers/${next}` }))
          }}
        />
      )}
    >
      {(transfer) => <Details key={transfer.bizId} transfer={transfer} />}
    </ItemPage>
  )
}

function Details({ transfer }: { transfer: AnyTransfer }) {
  const { currency, statusHistory } = transfer
  return (
    <div className="queues-item">
      <div className="queues-column">
        <Section title={t('decisions.facts')}>
          <Facts
            facts={[
              [t('queues.amount'), formatMoney(transfer.amount, currency)],
              [t('decisions.fee'), formatMoney(transfer.feeAmount, currency)],
              [t('queues.status'), <StatusBadge key="status" status={transfer.transferStatus} />],
              [t('queues.age'), <Age key="age" at={transfer.createdAt} />],
              [t('queues.workspace'), <MarkedWorkspace key="workspace" record={transfer} />],
              [t('decisions.creator'), <Person key="creator" id={statusHistory[0]?.actorBizId ?? null} />],
              [t('decisions.sourceWallet'), <code key="source">{transfer.sourceWalletBizId}</code>],
              [t('decisions.targetWallet'), <code key="target">{transfer.targetWalletBizId}</code>],
              [t('decisions.remark'), transfer.remark ?? '–'],
              [t('decisions.clientReference'), transfer.clientReference ?? '–'],
              [t('decisions.completedAt'), <Time key="completedAt" at={transfer.completedAt} />],
            ]}
          />
        </Section>
      </div>
      <div className="queues-column queues-side">
        <Decision transfer={transfer} />
      </div>
      <div className="queues-column queues-records">
        <History steps={statusHistory} />
        <Postings orderId={transfer.bizId} />
      </div>
    </div>
  )
}

function Decision({ transfer }: { transfer: AnyTransfer }) {
  const objections = useObjections(dutyOf(transfer, 'transfer:approve'))
  const params = { order_id: transfer.bizId }
  const amount = formatMoney(transfer.amount, transfer.currency)
  const choices: Choice[] = [
    {
      id: 'approve',
      label: t('decisions.approve'),
      effect: t('decisions.approveTransferEffect', { amount }),
      done: t('decisions.approved', { orderNo: transfer.orderNo }),
      objections: [...objections, ...frozenObjections(transfer)],
      run: () => client.call(approveTransfer, { params }),
    },
    {
      id: 'reject',
      label: t('decisions.reject'),
      effect: t('decisions.rejectTransferEffect', { amount }),
      done: t('decisions.rejected', { orderNo: transfer.orderNo }),
      tone: 'danger',
      objections,
      fields: <TextAreaField label={t('queues.reason')} name="reason" required />,
      run: (values) => client.call(rejectTransfer, { params, body: { reason: values('reason') } }),
    },
  ]
  return <Decide choices={transfer.transferStatus.code === 'PENDING_APPROVAL' ? choices : []} />
}

/** People have the number, other pages the id. */
async function findTransfer(id: string): Promise<AnyTransfer | null> {
  if (!/^TRF-/i.test(id)) return client.call(readAnyTransfer, { params: { order_id: id } })
  const { items } = await client.call(listAllTransfers, { query: { orderNo: id } })
  return items[0] ?? null
}
