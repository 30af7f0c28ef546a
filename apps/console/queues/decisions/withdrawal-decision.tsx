import {
  type AnyWithdrawal,
  approveWithdrawal,
  completeWithdrawal,
  failWithdrawal,
  rejectWithdrawal,
  returnWithdrawal,
} from 'portal-client'
import { client } from '../../../kit/client.ts'
import { formatMoney } from '../../../kit/format.ts'
import { TextAreaField, TextField } from '../../../kit/forms.tsx'
import { t } from '../../../kit/i18n.ts'
import { useSession } from '../../../kit/session.tsx'
import { type Choice, Decide } from '../parts/decide.tsx'
import { dutyOf, frozenObjections, type Objection, useObjections } from '../parts/four-eyes.ts'
import { useTrail } from '../parts/trail.tsx'

/** The decisions of each status: approve or reject, complete or fail, return. */
export function WithdrawalDecision({ withdrawal }: { withdrawal: AnyWithdrawal }) {
  switch (withdrawal.withdrawalStatus.code) {
    case 'PENDING_APPROVAL':
      return <Approval withdrawal={withdrawal} />
    case 'PROCESSING':
      return <Settlement withdrawal={withdrawal} />
    case 'COMPLETED':
      return <Return withdrawal={withdrawal} />
    default:
      return <Decide choices={[]} />
  }
}

function Approval({ withdrawal }: { withdrawal: AnyWithdrawal }) {
  const objections = useObjections(dutyOf(withdrawal, 'withdrawal:approve'))
  const ownVerification = useOwnVerification(withdrawal.withdrawalChannelBizId)
  const { amount, orderNo, params } = termsOf(withdrawal)
  const approve: Choice = {
    id: 'approve',
    label: t('decisions.approve'),
    effect: t('decisions.approveWithdrawalEffect', { amount }),
    done: t('decisions.approved', { orderNo }),
    objections: [...objections, ...ownVerification, ...frozenObjections(withdrawal)],
    run: () => client.call(approveWithdrawal, { params }),
  }
  const reject: Choice = {
    id: 'reject',
    label: t('decisions.reject'),
    effect: t('decisions.rejectWithdrawalEffect', { amount }),
    done: t('decisions.rejected', { orderNo }),
    tone: 'danger',
    objections,
    fields: <Reason />,
    run: (values) => client.call(rejectWithdrawal, { params, body: { reason: values('reason') } }),
  }
  return <Decide choices={[approve, reject]} />
}

function Settlement({ withdrawal }: { withdrawal: AnyWithdrawal }) {
  const objections = useObjections(dutyOf(withdrawal, 'withdrawal:settle'))
  const { amount, orderNo, params } = termsOf(withdrawal)
  const complete: Choice = {
    id: 'complete',
    label: t('decisions.complete'),
    effect: t('decisions.completeEffect', { amount }),
    done: t('decisions.withdrawalCompleted', { orderNo }),
    objections: [...objections, ...frozenObjections(withdrawal)],
    fields: <TextField label={t('decisions.externalReference')} name="externalReference" autoComplete="off" />,
    run: (values) =>
      client.call(completeWithdrawal, { params, body: { externalReference: values('externalReference') || null } }),
  }
  const fail: Choice = {
    id: 'fail',
    label: t('decisions.fail'),
    effect: t('decisions.failEffect', { amount }),
    done: t('decisions.withdrawalFailed', { orderNo }),
    tone: 'danger',
    objections,
    fields: <Reason />,
    run: (values) => client.call(failWithdrawal, { params, body: { reason: values('reason') } }),
  }
  return <Decide choices={[complete, fail]} />
}

function Return({ withdrawal }: { withdrawal: AnyWithdrawal }) {
  const { accountId } = useSession()
  const objections = useObjections(dutyOf(withdrawal, 'withdrawal:settle'))
  const { amount, orderNo, params } = termsOf(withdrawal)
  const completed = withdrawal.statusHistory.findLast(({ status }) => status.code === 'COMPLETED')
  const ownCompletion: Objection = { text: t('decisions.ownCompletion'), isCertain: true }
  const choice: Choice = {
    id: 'return',
    label: t('decisions.return'),
    effect: t('decisions.returnEffect', { amount }),
    done: t('decisions.withdrawalReturned', { orderNo }),
    tone: 'danger',
    objections: completed?.actorBizId === accountId ? [...objections, ownCompletion] : objections,
    fields: <Reason />,
    run: (values) => client.call(returnWithdrawal, { params, body: { reason: values('reason') } }),
  }
  return <Decide choices={[choice]} />
}

function Reason() {
  return <TextAreaField label={t('queues.reason')} name="reason" required />
}

function termsOf({ bizId, orderNo, amount, currency }: AnyWithdrawal) {
  return { orderNo, amount: formatMoney(amount, currency), params: { withdrawal_id: bizId } }
}

/** Only the audit log has who verified an account. */
function useOwnVerification(payoutAccountId: string): Objection[] {
  const { accountId } = useSession()
  const { data } = useTrail(payoutAccountId)
  const isOwn = data?.items.some(
    ({ action, actorBizId, outcome }) =>
      action === 'withdrawalChannels.verify' && outcome.code === 'SUCCESS' && actorBizId === accountId,
  )
  return isOwn ? [{ text: t('decisions.ownVerification'), isCertain: false }] : []
}
