import {
  type Account,
  approveAccount,
  reactivateAccount,
  rejectAccount,
  resetAccountFactors,
  suspendAccount,
  terminateAccountSessions,
} from 'portal-client'
import { client } from '../../kit/client.ts'
import { t } from '../../kit/i18n.ts'
import { useSession } from '../../kit/session.tsx'
import { Command, CommandRow, useMissing } from '../records/command.tsx'

/** The commands that the status of the account allows. Nobody decides on their own account. */
export function AccountCommands({ account }: { account: Account }) {
  const { accountId } = useSession()
  const own = account.bizId === accountId ? t('records.ownAccount') : null
  const params = { account_id: account.bizId }
  const approval = useMissing('account:approve') ?? own
  const suspension = useMissing('account:suspend') ?? own
  const termination = useMissing('session:terminate')
  const recovery = useMissing('recovery:manage') ?? own
  const status = account.accountStatus.code
  const values = { email: account.accountEmail }
  return (
    <div className="records-rows">
      {status === 'PENDING_APPROVAL' && (
        <>
          <CommandRow about={t('accounts.approveAbout')}>
            <Command
              label={t('accounts.approve')}
              question={t('accounts.approveQuestion', values)}
              done={t('accounts.approved')}
              blocked={approval}
              run={() => client.call(approveAccount, { params })}
            />
          </CommandRow>
          <CommandRow about={t('accounts.rejectAbout')}>
            <Command
              label={t('accounts.reject')}
              question={t('accounts.rejectQuestion', values)}
              done={t('accounts.rejected')}
              blocked={approval}
              tone="danger"
              asksReason
              run={(form) => client.call(rejectAccount, { params, body: { reason: form('reason') } })}
            />
          </CommandRow>
        </>
      )}
      {status === 'ACTIVE' && (
        <CommandRow about={t('accounts.suspendAbout')}>
          <Command
            label={t('accounts.suspend')}
            question={t('accounts.suspendQuestion', values)}
            done={t('accounts.suspended')}
            blocked={suspension}
            tone="danger"
            asksReason
            run={(form) => client.call(suspendAccount, { params, body: { reason: form('reason') } })}
          />
        </CommandRow>
      )}
      {status === 'SUSPENDED' && (
        <CommandRow about={t('accounts.reactivateAbout')}>
          <Command
            label={t('accounts.reactivate')}
            question={t('accounts.reactivateQuestion', values)}
            done={t('accounts.reactivated')}
            blocked={suspension}
            run={() => client.call(reactivateAccount, { params })}
          />
        </CommandRow>
      )}
      <CommandRow about={t('accounts.endSessionsAbout')}>
        <Command
          label={t('accounts.endSessions')}
          question={t('accounts.endSessionsQuestion', values)}
          done={({ terminatedSessions }) => t('accounts.sessionsEnded', { sessions: terminatedSessions })}
          blocked={termination}
          tone="danger"
          run={() => client.call(terminateAccountSessions, { params })}
        />
      </CommandRow>
      <CommandRow about={t('accounts.resetFactorsAbout')}>
        <Command
          label={t('accounts.resetFactors')}
          question={t('accounts.resetFactorsQuestion', values)}
          run={(form) => client.call(resetAccountFactors, { params, body: { reason: form('reason') } })}
          done={({ proposalStatus }) => t('accounts.factorsRequested', { status: proposalStatus.label })}
          blocked={recovery}
          tone="danger"
          asksReason
        />
      </CommandRow>
    </div>
  )
}
