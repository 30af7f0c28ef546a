import {
  initiateProviderLogin,
  linkProvider,
  type MfaMethod,
  type Provider,
  sendLoginCode,
  startBrowserSession,
  startWithProvider,
  stepUpAtProvider,
} from 'portal-client'
import { useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { client } from '../client.ts'
import { FactorDialog } from '../factor-dialog.tsx'
import { t } from '../i18n.ts'
import { Page } from '../page.tsx'
import { askForSignInFactor } from '../prompts.ts'
import { Failure, Loading } from '../states.tsx'
import { notify } from '../toasts.tsx'
import { leaveForProvider, type ProviderAttempt, takeAttempt } from './attempt.ts'

/** Leads the browser to the sign-in page of an identity provider. */
export function ProviderButton({ provider: { providerId, name } }: { provider: Provider }) {
  const [error, setError] = useState<unknown>(null)
  const begin = async (): Promise<void> =>
    leaveForProvider('sign-in', await client.call(initiateProviderLogin, { body: { providerId } }))
  return (
    <>
      {error !== null && <Failure error={error} />}
      <button type="button" onClick={() => begin().catch(setError)}>
        {t('sign-in.withProvider', { name })}
      </button>
    </>
  )
}

/** The page to which the gateway leads the browser, with the reply in the fragment (docs/guides/identity-provider.md). */
export function ProviderCallback() {
  const [failure, setFailure] = useState<{ error: unknown; returnPath: string } | null>(null)
  const [, navigate] = useLocation()
  useEffect(() => {
    const reply = new URLSearchParams(location.hash.slice(1))
    const attempt = takeAttempt()
    // The reply works once.
    history.replaceState(null, '', location.pathname)
    if (attempt === null) return navigate('/', { replace: true })
    const { returnPath } = attempt
    if (reply.has('error')) return navigate(returnPath, { replace: true })
    complete(attempt, reply).then(
      () => navigate(returnPath, { replace: true }),
      (error: unknown) => setFailure({ error, returnPath }),
    )
  }, [navigate])
  return (
    <main className="visitor">
      <Page title={t('sign-in.title')}>
        {failure === null ? (
          <Loading />
        ) : (
          <Failure error={failure.error} onRetry={() => navigate(failure.returnPath, { replace: true })} />
        )}
      </Page>
      <FactorDialog />
    </main>
  )
}

async function complete({ kind, sessionId }: ProviderAttempt, reply: URLSearchParams): Promise<void> {
  const iss = reply.get('iss')
  const body = {
    sessionId,
    code: reply.get('code') ?? '',
    state: reply.get('state') ?? '',
    ...(iss !== null && { iss }),
  }
  if (kind === 'link') {
    const { name } = await client.call(linkProvider, { body })
    return notify(t('sign-in.linked', { name }))
  }
  if (kind === 'step-up') {
    await client.call(stepUpAtProvider, { body })
    return notify(t('sign-in.confirmed'))
  }
  const { pending } = await client.call(startWithProvider, { body })
  if (pending) await proveFactor(pending.sessionId, pending.mfaMethods)
  await client.session.read()
}

/** The second factor, unless the provider’s counts. */
async function proveFactor(sessionId: string, methods: readonly MfaMethod[]): Promise<void> {
  const offered = methods.map(({ code }) => code).filter((code) => code !== 'PASSKEY')
  let mfaMethod = offered.includes('OTP') ? 'OTP' : (offered[0] ?? 'EMAIL')
  for (;;) {
    const sent = mfaMethod === 'EMAIL' ? await client.call(sendLoginCode, { body: { sessionId, mfaMethod } }) : null
    const answer = await askForSignInFactor(sent, null, { mfaMethod, mfaMethods: offered })
    if (typeof answer === 'string') {
      await client.call(startBrowserSession, { body: { sessionId, mfaMethod, code: answer } })
      return
    }
    if (answer.mfaMethod !== 'PASSKEY') mfaMethod = answer.mfaMethod
  }
}
