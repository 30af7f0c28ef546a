import {
  initiateProviderLogin,
  type MfaMethod,
  type Provider,
  sendLoginCode,
  startBrowserSession,
  startWithProvider,
} from 'portal-client'
import { useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { client } from '../client.ts'
import { FactorDialog } from '../factor-dialog.tsx'
import { t } from '../i18n.ts'
import { Page } from '../page.tsx'
import { askForCode } from '../prompts.ts'
import { Failure, Loading } from '../states.tsx'

/** Of the attempt that this tab has begun. */
const storageKey = 'portico.provider'

/** Leads the browser to the sign-in page of an identity provider. */
export function ProviderButton({ provider: { providerId, name } }: { provider: Provider }) {
  const [error, setError] = useState<unknown>(null)
  const begin = async (): Promise<void> => {
    const { sessionId, authorizationUrl } = await client.call(initiateProviderLogin, { body: { providerId } })
    sessionStorage.setItem(storageKey, sessionId)
    location.assign(authorizationUrl)
  }
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
  const [error, setError] = useState<unknown>(null)
  const [, navigate] = useLocation()
  useEffect(() => {
    const reply = new URLSearchParams(location.hash.slice(1))
    const sessionId = sessionStorage.getItem(storageKey)
    // The reply works once.
    history.replaceState(null, '', location.pathname)
    sessionStorage.removeItem(storageKey)
    if (sessionId === null || reply.has('error')) return navigate('/')
    complete(sessionId, reply).then(() => navigate('/'), setError)
  }, [navigate])
  return (
    <main className="visitor">
      <Page title={t('sign-in.title')}>
        {error === null ? <Loading /> : <Failure error={error} onRetry={() => navigate('/')} />}
      </Page>
      <FactorDialog />
    </main>
  )
}

async function complete(sessionId: string, reply: URLSearchParams): Promise<void> {
  const iss = reply.get('iss')
  const { pending } = await client.call(startWithProvider, {
    body: { sessionId, code: reply.get('code') ?? '', state: reply.get('state') ?? '', ...(iss !== null && { iss }) },
  })
  if (pending) await proveFactor(pending.sessionId, pending.mfaMethods)
  await client.session.read()
}

/** The second factor, unless the provider’s counts. */
async function proveFactor(sessionId: string, methods: readonly MfaMethod[]): Promise<void> {
  const offered = methods.map(({ code }) => code)
  const mfaMethod = offered.includes('OTP') ? 'OTP' : 'EMAIL'
  const sent = mfaMethod === 'EMAIL' ? await client.call(sendLoginCode, { body: { sessionId, mfaMethod } }) : null
  const code = await askForCode({ operationId: null, destination: sent?.maskedDestination ?? null, refusal: null })
  await client.call(startBrowserSession, { body: { sessionId, mfaMethod, code } })
}
