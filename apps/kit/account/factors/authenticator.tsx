import { useQuery } from '@tanstack/react-query'
import { listMfaMethods, revokeOtp, type SetupOtpReply, setupOtp, verifyOtp } from 'portal-client'
import { useState } from 'react'
import { Link } from 'wouter'
import { refreshData } from '../../app.tsx'
import { client } from '../../client.ts'
import { Command } from '../../command/command.tsx'
import { formatTime } from '../../format.ts'
import { Form, TextField, type Values } from '../../forms.tsx'
import { t } from '../../i18n.ts'
import { Section } from '../../page.tsx'
import { Badge, QueryView } from '../../states.tsx'
import { useTimeZone } from '../../time.tsx'
import { notify } from '../../toasts.tsx'
import { SubPage } from '../sub-page.tsx'
import { QrCode } from './qr-code.tsx'

/** Sets up and removes the authenticator app. */
export default function AuthenticatorPage() {
  const query = useQuery({ queryKey: ['factors'], queryFn: () => client.call(listMfaMethods) })
  return (
    <SubPage title={t('account.authenticator')}>
      <Section title={t('account.appTitle')}>
        <p>{t('account.appHint')}</p>
        <QueryView query={query}>
          {(factors) => {
            const factor = factors.find(({ mfaMethod }) => mfaMethod.code === 'OTP')
            return factor?.isEnabled ? <Active since={factor.verifiedAt} /> : <Setup />
          }}
        </QueryView>
      </Section>
    </SubPage>
  )
}

function Active({ since }: { since: string | null }) {
  const timeZone = useTimeZone()
  return (
    <>
      <p>
        <Badge tone="good">{t('account.on')}</Badge>{' '}
        {since && <span className="muted">{t('account.onSince', { time: formatTime(since, timeZone) })}</span>}
      </p>
      <p>
        <Link href="/security/backup-codes">{t('account.makeBackupCodes')}</Link>
      </p>
      <div className="form-actions">
        <Command
          label={t('account.removeApp')}
          done={t('account.appRemoved')}
          tone="danger"
          run={() => client.call(revokeOtp, {})}
        >
          <p>{t('account.removeAppHint')}</p>
        </Command>
      </div>
    </>
  )
}

/** The secret is shown only until the first code has been accepted. */
function Setup() {
  const [setup, setSetup] = useState<SetupOtpReply | null>(null)
  if (setup === null)
    return <Form submit={t('account.setUpApp')} onSubmit={async () => setSetup(await client.call(setupOtp))} />
  const verify = async (values: Values): Promise<void> => {
    await client.call(verifyOtp, { body: { code: values('code') } })
    notify(t('account.appAdded'))
    await refreshData()
  }
  return (
    <div className="account-setup">
      <QrCode text={setup.qrCodeUri} label={t('account.qrCode')} />
      <div className="account-steps">
        <p>{t('account.scan')}</p>
        <p>
          <span className="hint">{t('account.secret')}</span>
          <br />
          <code className="account-secret">{setup.secret}</code>
        </p>
        <Form submit={t('account.activate')} onSubmit={verify}>
          <TextField
            label={t('account.firstCode')}
            name="code"
            inputMode="numeric"
            autoComplete="one-time-code"
            required
          />
        </Form>
      </div>
    </div>
  )
}
