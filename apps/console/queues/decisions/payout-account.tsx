import {
  type AllWithdrawalChannel,
  listAllWithdrawalChannels,
  rejectWithdrawalChannel,
  revealWithdrawalChannel,
  verifyWithdrawalChannel,
} from 'portal-client'
import { useState } from 'react'
import { client } from '../../../kit/client.ts'
import { Facts } from '../../../kit/facts.tsx'
import { nameOfCode } from '../../../kit/format.ts'
import { Form, TextAreaField } from '../../../kit/forms.tsx'
import { permissionName, t } from '../../../kit/i18n.ts'
import { Section } from '../../../kit/page.tsx'
import { useParameter } from '../../../kit/pages.tsx'
import { usePermission } from '../../../kit/session.tsx'
import { Age } from '../../../kit/time.tsx'
import { type Choice, Decide } from '../parts/decide.tsx'
import { useObjections } from '../parts/four-eyes.ts'
import { ItemPage, NextItem } from '../parts/item-page.tsx'
import { Person } from '../parts/people.tsx'
import { MarkedWorkspace, StatusBadge } from '../parts/records.tsx'
import { creatorIn, findPayoutAccount, Trail, useTrail } from '../parts/trail.tsx'

/** A payout account, its verification and its number. */
export default function PayoutAccountPage() {
  const id = useParameter('id')
  return (
    <ItemPage
      queryKey={['payout-account', id]}
      read={() => findPayoutAccount(id)}
      titleOf={({ maskedAccount }) => maskedAccount}
      list={{ path: '/queues/payout-accounts', title: 'queues.payoutAccounts' }}
      nextOf={({ bizId, createdAt }) => (
        <NextItem
          id={bizId}
          createdAt={createdAt}
          read={async (query) => {
            const { items } = await client.call(listAllWithdrawalChannels, {
              query: { ...query, channelStatus: 'PENDING_VERIFICATION' },
            })
            return items.map(({ bizId: next }) => ({ bizId: next, path: `/queues/payout-accounts/${next}` }))
          }}
        />
      )}
    >
      {(account) => <Details key={account.bizId} account={account} />}
    </ItemPage>
  )
}

function Details({ account }: { account: AllWithdrawalChannel }) {
  const creator = creatorIn(useTrail(account.bizId).data, 'withdrawalChannels.create')
  return (
    <div className="queues-item">
      <div className="queues-column">
        <Section title={t('decisions.facts')}>
          <Facts
            facts={[
              [t('queues.accountHolder'), account.accountHolderName],
              [t('queues.accountNumber'), account.maskedAccount],
              [t('queues.channelType'), account.channelType.label],
              [t('queues.currency'), account.currency],
              [t('decisions.country'), nameOfCode('region', account.country)],
              [t('decisions.bankCode'), account.bankCode ?? '–'],
              [t('decisions.network'), account.network ?? '–'],
              [t('queues.status'), <StatusBadge key="status" status={account.channelStatus} />],
              [t('queues.age'), <Age key="age" at={account.createdAt} />],
              [t('queues.workspace'), <MarkedWorkspace key="workspace" record={account} />],
              [t('decisions.creator'), creator === null ? '–' : <Person key="creator" id={creator} />],
              [t('queues.reason'), account.rejectReason ?? '–'],
            ]}
          />
        </Section>
      </div>
      <div className="queues-column queues-side">
        <Reveal accountId={account.bizId} />
        <Decision account={account} creatorId={creator} />
      </div>
      <div className="queues-column queues-records">
        <Trail targetId={account.bizId} />
      </div>
    </div>
  )
}

/** The whole account number. Kept only by this component. */
function Reveal({ accountId }: { accountId: string }) {
  const mayReveal = usePermission('withdrawal-channel:reveal')
  const [number, setNumber] = useState<string | null>(null)
  return (
    <Section title={t('queues.accountNumber')}>
      {!mayReveal && (
        <p className="hint">
          {t('records.needsPermission', { permission: permissionName('withdrawal-channel:reveal') })}
        </p>
      )}
      {mayReveal && number === null && (
        <Form
          submit={t('decisions.reveal')}
          onSubmit={async (values) => {
            const params = { withdrawal_channel_id: accountId }
            const body = { reason: values('reason') }
            setNumber((await client.call(revealWithdrawalChannel, { params, body })).accountNumber)
          }}
        >
          <TextAreaField label={t('queues.reason')} name="reason" hint={t('decisions.revealHint')} required />
        </Form>
      )}
      {number !== null && (
        <>
          <p className="figure">{number}</p>
          <div>
            <button type="button" onClick={() => setNumber(null)}>
              {t('decisions.hide')}
            </button>
          </div>
        </>
      )}
    </Section>
  )
}

function Decision({ account, creatorId }: { account: AllWithdrawalChannel; creatorId: string | null }) {
  const objections = useObjections({
    permission: 'withdrawal-channel:verify',
    creatorId,
    workspaceId: account.workspaceBizId,
  })
  const params = { withdrawal_channel_id: account.bizId }
  const isPending = account.channelStatus.code === 'PENDING_VERIFICATION'
  const verify: Choice = {
    id: 'verify',
    label: t('decisions.verify'),
    effect: t('decisions.verifyEffect'),
    done: t('decisions.accountVerified'),
    objections,
    run: () => client.call(verifyWithdrawalChannel, { params }),
  }
  const reject: Choice = {
    id: 'reject',
    label: t(isPending ? 'decisions.reject' : 'decisions.disable'),
    effect: t('decisions.rejectAccountEffect'),
    done: t(isPending ? 'decisions.accountRejected' : 'decisions.accountDisabled'),
    tone: 'danger',
    objections,
    fields: <TextAreaField label={t('queues.reason')} name="reason" required />,
    run: (values) => client.call(rejectWithdrawalChannel, { params, body: { reason: values('reason') } }),
  }
  switch (account.channelStatus.code) {
    case 'PENDING_VERIFICATION':
      return <Decide choices={[verify, reject]} />
    case 'ACTIVE':
    case 'SUSPENDED':
      return <Decide choices={[reject]} />
    default:
      return <Decide choices={[]} />
  }
}
