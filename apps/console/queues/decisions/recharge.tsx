import { type AnyRecharge, listAllRecharges, readAnyRecharge } from 'portal-client'
import { Link } from 'wouter'
import { client } from '../../../kit/client.ts'
import { Facts } from '../../../kit/facts.tsx'
import { formatMoney } from '../../../kit/format.ts'
import { t } from '../../../kit/i18n.ts'
import { Table } from '../../../kit/list.tsx'
import { Section } from '../../../kit/page.tsx'
import { useParameter } from '../../../kit/pages.tsx'
import { Age, Time } from '../../../kit/time.tsx'
import { ItemPage, NextItem } from '../parts/item-page.tsx'
import { Person, WorkspaceLink } from '../parts/people.tsx'
import { History, MarkedWorkspace, Postings, StatusBadge } from '../parts/records.tsx'
import { Proof } from './proof.tsx'
import { RechargeDecision } from './recharge-decision.tsx'

/** A recharge, with its proof beside the decision. */
export default function RechargePage() {
  const id = useParameter('id')
  return (
    <ItemPage
      queryKey={['recharge', id]}
      read={() => client.call(readAnyRecharge, { params: { recharge_id: id } })}
      titleOf={({ orderNo }) => orderNo}
      list={{ path: '/queues/recharges', title: 'queues.recharges' }}
      nextOf={({ bizId, createdAt }) => (
        <NextItem
          id={bizId}
          createdAt={createdAt}
          read={async (query) => {
            const { items } = await client.call(listAllRecharges, {
              query: { ...query, rechargeStatus: 'PROOF_SUBMITTED' },
            })
            return items.map(({ bizId: next }) => ({ bizId: next, path: `/queues/recharges/${next}` }))
          }}
        />
      )}
    >
      {(recharge) => <Details key={recharge.bizId} recharge={recharge} />}
    </ItemPage>
  )
}

function Details({ recharge }: { recharge: AnyRecharge }) {
  return (
    <div className="queues-item">
      <div className="queues-column">
        <RechargeFacts recharge={recharge} />
        {recharge.proofFileBizId !== null && <Proof rechargeId={recharge.bizId} />}
        <ProofUses uses={recharge.proofUsedBefore ?? []} />
      </div>
      <div className="queues-column queues-side">
        <RechargeDecision recharge={recharge} />
      </div>
      <div className="queues-column queues-records">
        <Allowances allowances={recharge.referenceAllowances ?? []} />
        <History steps={recharge.statusHistory} />
        <Postings orderId={recharge.bizId} />
      </div>
    </div>
  )
}

function RechargeFacts({ recharge }: { recharge: AnyRecharge }) {
  const { currency, receivedAmount, completedAt } = recharge
  return (
    <Section title={t('decisions.facts')}>
      <Facts
        facts={[
          [t('queues.amount'), formatMoney(recharge.amount, currency)],
          [t('decisions.receivedAmount'), receivedAmount === null ? '–' : formatMoney(receivedAmount, currency)],
          [t('decisions.fee'), formatMoney(recharge.feeAmount, currency)],
          [t('decisions.netAmount'), formatMoney(recharge.netAmount, currency)],
          [t('queues.status'), <StatusBadge key="status" status={recharge.rechargeStatus} />],
          [t('queues.age'), <Age key="age" at={recharge.createdAt} />],
          [t('queues.workspace'), <MarkedWorkspace key="workspace" record={recharge} />],
          [t('decisions.creator'), <Person key="creator" id={recharge.statusHistory[0]?.actorBizId ?? null} />],
          [t('queues.channel'), recharge.channelCode],
          [t('decisions.wallet'), <code key="wallet">{recharge.walletBizId}</code>],
          [t('decisions.externalReference'), recharge.externalReference ?? '–'],
          [t('decisions.expiresAt'), <Time key="expiresAt" at={recharge.expiresAt} />],
          [t('decisions.completedAt'), <Time key="completedAt" at={completedAt} />],
        ]}
      />
    </Section>
  )
}

/** Other recharges with the same file. */
function ProofUses({ uses }: { uses: NonNullable<AnyRecharge['proofUsedBefore']> }) {
  if (uses.length === 0) return null
  return (
    <Section title={t('decisions.proofUses')}>
      <p>{t('decisions.proofUsesHint')}</p>
      <Table
        label={t('decisions.proofUses')}
        items={uses}
        keyOf={({ rechargeBizId }) => rechargeBizId}
        columns={[
          {
            title: t('decisions.recharge'),
            cell: ({ rechargeBizId }) => <Link href={`/queues/recharges/${rechargeBizId}`}>{rechargeBizId}</Link>,
          },
          { title: t('queues.workspace'), cell: ({ workspaceBizId }) => <WorkspaceLink id={workspaceBizId} /> },
          { title: t('queues.time'), cell: ({ createdAt }) => <Time at={createdAt} /> },
        ]}
      />
    </Section>
  )
}

/** References that another operator allowed although they are used. */
function Allowances({ allowances }: { allowances: NonNullable<AnyRecharge['referenceAllowances']> }) {
  if (allowances.length === 0) return null
  return (
    <Section title={t('decisions.allowances')}>
      <Table
        label={t('decisions.allowances')}
        items={allowances}
        keyOf={({ externalReference, createdAt }) => `${createdAt} ${externalReference}`}
        columns={[
          { title: t('decisions.externalReference'), cell: ({ externalReference }) => externalReference },
          { title: t('queues.actor'), cell: ({ actorBizId }) => <Person id={actorBizId} /> },
          { title: t('queues.reason'), cell: ({ reason }) => reason },
          { title: t('queues.time'), cell: ({ createdAt }) => <Time at={createdAt} /> },
          { title: t('decisions.usedAt'), cell: ({ usedAt }) => <Time at={usedAt} /> },
        ]}
      />
    </Section>
  )
}
