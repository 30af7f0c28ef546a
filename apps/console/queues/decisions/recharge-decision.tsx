import { type AnyRecharge, allowRechargeReference, confirmRecharge, rejectRecharge } from 'portal-client'
import { client } from '../../../kit/client.ts'
import { formatMoney } from '../../../kit/format.ts'
import { AmountField, TextAreaField, TextField } from '../../../kit/forms.tsx'
import { t } from '../../../kit/i18n.ts'
import { useSession } from '../../../kit/session.tsx'
import { type Choice, Decide } from '../parts/decide.tsx'
import { dutyOf, frozenObjections, type Objection, useObjections } from '../parts/four-eyes.ts'

/** Confirm, reject, or allow a used reference. */
export function RechargeDecision({ recharge }: { recharge: AnyRecharge }) {
  const duties = useObjections(dutyOf(recharge, 'recharge:approve'))
  const ownAllowance = useOwnAllowance(recharge)
  const { orderNo, currency, rechargeStatus } = recharge
  const params = { recharge_id: recharge.bizId }
  const confirm: Choice = {
    id: 'confirm',
    label: t('decisions.confirmRecharge'),
    effect: t('decisions.confirmRechargeEffect', { amount: formatMoney(recharge.amount, currency) }),
    done: t('decisions.rechargeConfirmed', { orderNo }),
    objections: [...duties, ...ownAllowance, ...frozenObjections(recharge)],
    fields: (
      <>
        <TextField
          label={t('decisions.externalReference')}
          name="externalReference"
          hint={t('decisions.externalReferenceHint')}
          required={rechargeStatus.code === 'EXPIRED'}
          autoComplete="off"
        />
        <AmountField
          label={t('decisions.receivedAmount')}
          name="receivedAmount"
          currency={currency}
          hint={t('decisions.receivedAmountHint', { currency })}
        />
      </>
    ),
    run: (values) =>
      client.call(confirmRecharge, {
        params,
        body: {
          ...(values('externalReference') && { externalReference: values('externalReference') }),
          ...(values('receivedAmount') && { receivedAmount: values('receivedAmount') }),
        },
      }),
  }
  const reject: Choice = {
    id: 'reject',
    label: t('decisions.reject'),
    effect: t('decisions.rejectRechargeEffect'),
    done: t('decisions.rejected', { orderNo }),
    tone: 'danger',
    objections: duties,
    fields: <TextAreaField label={t('queues.reason')} name="reason" required />,
    run: (values) => client.call(rejectRecharge, { params, body: { reason: values('reason') } }),
  }
  const allow: Choice = {
    id: 'allow',
    label: t('decisions.allowReference'),
    effect: t('decisions.allowReferenceEffect'),
    done: t('decisions.referenceAllowed'),
    objections: duties,
    fields: (
      <>
        <TextField label={t('decisions.externalReference')} name="externalReference" required autoComplete="off" />
        <TextAreaField label={t('queues.reason')} name="reason" required />
      </>
    ),
    run: (values) =>
      client.call(allowRechargeReference, {
        params,
        body: { externalReference: values('externalReference'), reason: values('reason') },
      }),
  }
  switch (rechargeStatus.code) {
    case 'PROOF_SUBMITTED':
      return <Decide choices={[confirm, reject, allow]} />
    case 'PENDING_PAYMENT':
    case 'EXPIRED':
      return <Decide choices={[confirm, allow]} />
    default:
      return <Decide choices={[]} />
  }
}

/** Whoever allowed a reference cannot confirm the recharge with it. */
function useOwnAllowance({ referenceAllowances = [] }: AnyRecharge): Objection[] {
  const { accountId } = useSession()
  return referenceAllowances
    .filter(({ actorBizId, usedAt }) => actorBizId === accountId && usedAt === null)
    .map(({ externalReference }) => ({
      text: t('decisions.ownAllowance', { reference: externalReference }),
      isCertain: false,
    }))
}
