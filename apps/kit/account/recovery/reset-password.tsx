import { isPorticoError, resetPassword } from 'portal-client'
import { supportsPasskeys } from 'portico-client/passkeys'
import { useState } from 'react'
import { Link } from 'wouter'
import { client } from '../../client.ts'
import { Form, SelectField, TextField, type Values } from '../../forms.tsx'
import { t } from '../../i18n.ts'
import { readPageSettings } from '../../settings.ts'
import { signByPasskey } from '../../sign-in/webauthn.ts'
import { NewPasswordFields, newPasswordOf } from '../new-password.tsx'
import { linkToken } from './link-token.ts'
import { VisitorPage, WithoutToken } from './visitor-page.tsx'

/** Sets a new password. An account with a strong factor must prove it, too. */
export default function ResetPasswordPage() {
  const [endedSessions, setEndedSessions] = useState<number | null>(null)
  return (
    <VisitorPage title={t('recovery.reset')}>
      {endedSessions !== null ? (
        <Done endedSessions={endedSessions} />
      ) : linkToken === null ? (
        <>
          <WithoutToken />
          <p>
            <Link href="/forgot-password">{t('recovery.newLink')}</Link>
          </p>
        </>
      ) : (
        <ResetForm token={linkToken} onDone={setEndedSessions} />
      )}
    </VisitorPage>
  )
}

function ResetForm({ token, onDone }: { token: string; onDone(endedSessions: number): void }) {
  const [needsFactor, setNeedsFactor] = useState(false)
  const reset = async (values: Values): Promise<void> => {
    const newPassword = newPasswordOf(values)
    const factor = needsFactor ? await factorOf(values) : {}
    try {
      const { terminatedSessions } = await client.call(resetPassword, { body: { token, newPassword, ...factor } })
      onDone(terminatedSessions)
    } catch (error) {
      if (isPorticoError(error, 'ACCESS.STEP_UP_REQUIRED')) setNeedsFactor(true)
      throw error
    }
  }
  return (
    <Form submit={t('recovery.setPassword')} onSubmit={reset}>
      <NewPasswordFields />
      {needsFactor && <FactorFields />}
    </Form>
  )
}

function FactorFields() {
  const [method, setMethod] = useState('OTP')
  return (
    <>
      <SelectField
        label={t('recovery.factor')}
        name="mfaMethod"
        hint={t('recovery.factorHint')}
        options={factors().map(({ value, text }) => ({ value, label: t(text) }))}
        onChange={setMethod}
      />
      {method !== 'PASSKEY' && (
        <TextField label={t('recovery.code')} name="code" autoComplete="one-time-code" required autoFocus />
      )}
    </>
  )
}

function factors(): readonly { value: string; text: string }[] {
  const hasPasskeys = readPageSettings().passkeys && supportsPasskeys()
  return [
    { value: 'OTP', text: 'account.authenticator' },
    { value: 'BACKUP_CODE', text: 'recovery.backupCode' },
    ...(hasPasskeys ? [{ value: 'PASSKEY', text: 'recovery.passkey' }] : []),
  ]
}

async function factorOf(values: Values) {
  switch (values('mfaMethod')) {
    case 'PASSKEY':
      return { mfaMethod: 'PASSKEY', passkey: await signByPasskey() } as const
    case 'BACKUP_CODE':
      return { mfaMethod: 'BACKUP_CODE', code: values('code') } as const
    default:
      return { mfaMethod: 'OTP', code: values('code') } as const
  }
}

function Done({ endedSessions }: { endedSessions: number }) {
  return (
    <p className="notice notice-good" role="status">
      {t('recovery.resetDone', { count: endedSessions })}
    </p>
  )
}
