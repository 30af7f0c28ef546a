import { useQuery } from '@tanstack/react-query'
import { isPorticoError, listProviders, signIn, signInWithPasskey } from 'portal-client'
import { supportsAutofill, supportsPasskeys } from 'portico-client/passkeys'
import { type ReactNode, useEffect, useState } from 'react'
import { Link } from 'wouter'
import { client } from '../client.ts'
import { FactorDialog } from '../factor-dialog.tsx'
import { Form, TextField, type Values } from '../forms.tsx'
import { ViewSettings } from '../frame.tsx'
import { t } from '../i18n.ts'
import { Page } from '../page.tsx'
import { askForSignInFactor } from '../prompts.ts'
import { readPageSettings } from '../settings.ts'
import { Failure } from '../states.tsx'
import { ProviderButton } from './provider.tsx'

/** `children` are further links, such as to the registration. */
export function SignInPage({ name, children }: { name: string; children?: ReactNode }) {
  const { data: providers } = useQuery({ queryKey: ['providers'], queryFn: () => client.call(listProviders) })
  const [isPending, setPending] = useState(false)
  return (
    <main className="visitor">
      <p className="brand">{name}</p>
      <Page title={t(isPending ? 'sign-in.pendingTitle' : 'sign-in.title')}>
        {isPending ? (
          <Pending onBack={() => setPending(false)} />
        ) : (
          <>
            <PasswordForm onPending={() => setPending(true)} />
            {readPageSettings().passkeys && <PasskeyButton />}
            {providers?.map((provider) => (
              <ProviderButton key={provider.providerId} provider={provider} />
            ))}
            <Link href="/forgot-password">{t('recovery.forgot')}</Link>
            {children}
          </>
        )}
      </Page>
      <footer className="view-settings">
        <ViewSettings />
      </footer>
      <FactorDialog />
    </main>
  )
}

function Pending({ onBack }: { onBack(): void }) {
  return (
    <>
      <p className="notice" role="status">
        {t('sign-in.pending')}
      </p>
      <button type="button" onClick={onBack}>
        {t('recovery.toSignIn')}
      </button>
    </>
  )
}

function PasswordForm({ onPending }: { onPending(): void }) {
  const submit = async (values: Values): Promise<void> => {
    const credentials = { email: values('email'), password: values('password') }
    try {
      await signIn(client, { ...credentials, attempts: 3, code: askForSignInFactor })
    } catch (error) {
      if (!isPorticoError(error, 'AUTH.PENDING_APPROVAL')) throw error
      onPending()
    }
  }
  return (
    <Form submit={t('sign-in.submit')} onSubmit={submit}>
      <TextField label={t('sign-in.email')} name="email" type="email" autoComplete="username webauthn" required />
      <TextField
        label={t('sign-in.password')}
        name="password"
        type="password"
        autoComplete="current-password"
        required
      />
    </Form>
  )
}

/** Also suggests passkeys in the field of the name. */
function PasskeyButton() {
  const [error, setError] = useState<unknown>(null)
  useEffect(() => {
    const leaving = new AbortController()
    const suggest = async (): Promise<void> => {
      if (await supportsAutofill()) await signInWithPasskey(client, { autofill: true, signal: leaving.signal })
    }
    // The user chose another way, or left. The button reports what else is wrong.
    suggest().catch(() => undefined)
    return () => leaving.abort()
  }, [])
  if (!supportsPasskeys()) return null
  return (
    <>
      {error !== null && <Failure error={error} />}
      <button
        type="button"
        onClick={() => {
          setError(null)
          signInWithPasskey(client).catch(setError)
        }}
      >
        {t('sign-in.withPasskey')}
      </button>
    </>
  )
}
