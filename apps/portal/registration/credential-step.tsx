import { initPassword, signIn, signInWithPasskey } from 'portal-client'
import { supportsPasskeys } from 'portico-client/passkeys'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { NewPasswordFields, newPasswordOf } from '../../kit/account/new-password.tsx'
import { client } from '../../kit/client.ts'
import { Form, type Values } from '../../kit/forms.tsx'
import { t } from '../../kit/i18n.ts'
import { askForSignInFactor } from '../../kit/prompts.ts'
import { readPageSettings } from '../../kit/settings.ts'
import type { CreatedAccount } from './account-step.tsx'
import { registerFirst } from './first-passkey.ts'

interface Props {
  email: string
  account: CreatedAccount
  /** The account needs the approval of an operator. */
  onWaiting(): void
}

/** The first passkey where the portal has them, and the first password. */
export function CredentialStep({ email, account: { passwordInitToken: token, pendingApproval }, onWaiting }: Props) {
  const [hasPasskey, setHasPasskey] = useState(false)
  const [, navigate] = useLocation()
  const enter = async (start: () => Promise<unknown>): Promise<void> => {
    if (pendingApproval) return onWaiting()
    await start()
    navigate('/', { replace: true })
  }
  const setPassword = async (values: Values): Promise<void> => {
    const password = newPasswordOf(values)
    await client.call(initPassword, { body: { token, newPassword: password } })
    await enter(() => signIn(client, { email, password, attempts: 3, code: askForSignInFactor }))
  }
  return (
    <>
      {readPageSettings().passkeys && supportsPasskeys() && (
        <section className="section">
          <h2>{t('registration.passkey')}</h2>
          <p className="hint">{t('account.passkeysHint')}</p>
          {hasPasskey ? (
            <>
              <p role="status">{t('account.passkeyAdded')}</p>
              <Form
                submit={t('registration.withoutPassword')}
                onSubmit={() => enter(() => signInWithPasskey(client))}
              />
            </>
          ) : (
            <Form
              submit={t('account.addPasskey')}
              onSubmit={async () => {
                await registerFirst(token)
                setHasPasskey(true)
              }}
            />
          )}
        </section>
      )}
      <Form submit={t('recovery.setPassword')} onSubmit={setPassword}>
        <NewPasswordFields />
      </Form>
    </>
  )
}
