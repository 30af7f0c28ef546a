import { useQuery } from '@tanstack/react-query'
import { listProviders, signIn, signInWithPasskey } from 'portal-client'
import { supportsAutofill, supportsPasskeys } from 'portico-client/passkeys'
import { type ReactNode, useEffect, useState } from 'react'
import { client } from '../client.ts'
import { FactorDialog } from '../factor-dialog.tsx'
import { Form, TextField } from '../forms.tsx'
import { ViewSettings } from '../frame.tsx'
import { t } from '../i18n.ts'
import { Page } from '../page.tsx'
import { askForCode } from '../prompts.ts'
import { Failure } from '../states.tsx'
import { ProviderButton } from './provider.tsx'

/** `children` are links, such as to the registration. */
export function SignInPage({ name, children }: { name: string; children?: ReactNode }) {
  const { data: providers } = useQuery({ queryKey: ['providers'], queryFn: () => client.call(listProviders) })
  return (
    <main className="visitor">
      <p className="brand">{name}</p>
      <Page title={t('sign-in.title')}>
        <PasswordForm />
        <PasskeyButton />
        {providers?.map((provider) => (
          <ProviderButton key={provider.providerId} provider={provider} />
        ))}
        {children}
      </Page>
      <footer className="view-settings">
        <ViewSettings />
      </footer>
      <FactorDialog />
    </main>
  )
}

function PasswordForm() {
  return (
    <Form
      submit={t('sign-in.submit')}
      onSubmit={(values) =>
        signIn(client, {
          email: values('email'),
          password: values('password'),
          attempts: 3,
          code: (sent, refused) =>
            askForCode({
              operationId: null,
              destination: sent?.maskedDestination ?? null,
              refusal: refused?.message ?? null,
            }),
        })
      }
    >
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

/** Also suggests passkeys in the field of the name. A portal without passkeys hides the button. */
function PasskeyButton() {
  const [isOffered, setOffered] = useState(supportsPasskeys())
  const [error, setError] = useState<unknown>(null)
  useEffect(() => {
    const leaving = new AbortController()
    const suggest = async (): Promise<void> => {
      if (await supportsAutofill()) await signInWithPasskey(client, { autofill: true, signal: leaving.signal })
    }
    suggest().catch(() => leaving.signal.aborted || setOffered(false))
    return () => leaving.abort()
  }, [])
  if (!isOffered) return null
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
