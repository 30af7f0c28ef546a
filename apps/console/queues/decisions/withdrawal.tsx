import { type AnyWithdrawal, listAllWithdrawals, readAnyWithdrawal, type WithdrawalStatusCode } from 'portal-client'
import { useState } from 'react'
import { Link } from 'wouter'
import { client } from '../../../kit/client.ts'
import { Facts } from '../../../kit/facts.tsx'
import { formatMoney } from '../../../kit/format.ts'
import { t } from '../../../kit/i18n.ts'
import { Section } from '../../../kit/page.tsx'
import { useParameter } from '../../../kit/pages.tsx'
import { Age, Time } from '../../../kit/time.tsx'
import { ItemPage, NextItem } from '../parts/item-page.tsx'
import { Person } from '../parts/people.tsx'
import { History, MarkedWorkspace, Postings, StatusBadge } from '../parts/records.tsx'
import { usePayoutAccount } from '../parts/trail.tsx'
import { WithdrawalDecision } from './withdrawal-decision.tsx'

/** A withdrawal, and the decisions from the approval to the return. */
export default function WithdrawalPage() {
  const id = useParameter('id')
  return (
    <ItemPage
      queryKey={['withdrawal', id]}
      read={() => client.call(readAnyWithdrawal, { params: { withdrawal_id: id } })}
      titleOf={({ orderNo }) => orderNo}
      list={{ path: '/queues/withdrawals', title: 'queues.withdrawals' }}
      nextOf={(withdrawal) => <NextWithdrawal key={withdrawal.bizId} withdrawal={withdrawal} />}
    >
      {(withdrawal) => <Details key={withdrawal.bizId} withdrawal={withdrawal} />}
    </ItemPage>
  )
}

/** Stays in the queue that the page was opened from: to approve, or to settle. */
function NextWithdrawal({ withdrawal: { bizId, createdAt, withdrawalStatus } }: { withdrawal: AnyWithdrawal }) {
  const [queue] = useState<WithdrawalStatusCode>(
    withdrawalStatus.code === 'PROCESSING' ? 'PROCESSING' : 'PENDING_APPROVAL',
  )
  return (
    <NextItem
      id={bizId}
      createdAt={createdAt}
      read={async (query) => {
        const { items } = await client.call(listAllWithdrawals, { query: { ...query, withdrawalStatus: queue } })
        return items.map(({ bizId: next }) => ({ bizId: next, path: `/queues/withdrawals/${next}` }))
      }}
    />
  )
}

function Details({ withdrawal }: { withdrawal: AnyWithdrawal }) {
  const { currency, withdrawalChannelBizId: accountId, completedAt } = withdrawal
  const account = usePayoutAccount(accountId)
  return (
    <div className="queues-item">
      <div className="queues-column">
        <Section title={t('decisions.facts')}>
          <Facts
            facts={[
              [t('queues.amount'), formatMoney(withdrawal.amount, currency)],
              [t('decisions.fee'), formatMoney(withdrawal.feeAmount, currency)],
              [t('decisions.netAmount'), formatMoney(withdrawal.netAmount, currency)],
              [t('queues.status'), <StatusBadge key="status" status={withdrawal.withdrawalStatus} />],
              [t('queues.age'), <Age key="age" at={withdrawal.createdAt} />],
              [t('queues.workspace'), <MarkedWorkspace key="workspace" record={withdrawal} />],
              [t('decisions.creator'), <Person key="creator" id={withdrawal.statusHistory[0]?.actorBizId ?? null} />],
              [
                t('decisions.payoutAccount'),
                <Link key="account" href={`/queues/payout-accounts/${accountId}`}>
                  {account ? `${account.accountHolderName}, ${account.maskedAccount}` : accountId}
                </Link>,
              ],
              [t('decisions.wallet'), <code key="wallet">{withdrawal.walletBizId}</code>],
              [t('decisions.remark'), withdrawal.remark ?? '–'],
              [t('decisions.externalReference'), withdrawal.externalReference ?? '–'],
              [t('decisions.failureReason'), withdrawal.failureReason ?? '–'],
              [t('decisions.completedAt'), <Time key="completedAt" at={completedAt} />],
            ]}
          />
        </Section>
      </div>
      <div className="queues-column queues-side">
        <WithdrawalDecision withdrawal={withdrawal} />
      </div>
      <div className="queues-column queues-records">
        <History steps={withdrawal.statusHistory} />
        <Postings orderId={withdrawal.bizId} />
      </div>
    </div>
  )
}
