import { initiateRegistration, verifyRegistrationEmail } from 'portal-client'
import { useState } from 'react'
import { VisitorPage } from '../../kit/account/recovery/visitor-page.tsx'
import { useCaptcha } from '../../kit/captcha/captcha.tsx'
import { client } from '../../kit/client.ts'
import { FactorDialog } from '../../kit/factor-dialog.tsx'
import { Form, TextField, type Values } from '../../kit/forms.tsx'
import { t } from '../../kit/i18n.ts'
import { notify } from '../../kit/toasts.tsx'
import { AccountStep, type CreatedAccount } from './account-step.tsx'
import { CredentialStep } from './credential-step.tsx'

type Step =
  | { at: 'email' }
  | { at: 'code'; sessionId: string; email: string }
  | { at: 'account'; sessionId: string; email: string }
  | { at: 'credential'; email: string; account: CreatedAccount }
  | { at: 'waiting' }

/** From an address to the first sign-in. */
export default function RegisterPage() {
  const [step, setStep] = useState<Step>({ at: 'email' })
  return (
    <>
      <VisitorPage title={t(step.at === 'waiting' ? 'sign-in.pendingTitle' : 'registration.title')}>
        <CurrentStep step={step} onNext={setStep} />
      </VisitorPage>
      <FactorDialog />
    </>
  )
}

function CurrentStep({ step, onNext }: { step: Step; onNext(next: Step): void }) {
  switch (step.at) {
    case 'email':
      return <EmailStep onNext={(sessionId, email) => onNext({ at: 'code', sessionId, email })} />
    case 'code':
      return <CodeStep {...step} onNext={(sessionId) => onNext({ ...step, at: 'account', sessionId })} />
    case 'account':
      return (
        <AccountStep
          sessionId={step.sessionId}
          onNext={(account) => onNext({ at: 'credential', email: step.email, account })}
        />
      )
    case 'credential':
      return <CredentialStep {...step} onWaiting={() => onNext({ at: 'waiting' })} />
    case 'waiting':
      return (
        <p className="notice" role="status">
          {t('sign-in.pending')}
        </p>
      )
  }
}

function EmailStep({ onNext }: { onNext(sessionId: string, email: string): void }) {
  const captcha = useCaptcha()
  const start = async (values: Values): Promise<void> => {
    const email = values('email')
    const { sessionId } = await captcha.send((turnstileToken) => initiate(email, turnstileToken))
    onNext(sessionId, email)
  }
  return (
    <>
      <p>{t('registration.emailHint')}</p>
      <Form submit={t('registration.next')} onSubmit={start}>
        <TextField label={t('sign-in.email')} name="email" type="email" autoComplete="username" required />
        {captcha.field}
      </Form>
    </>
  )
}

interface CodeStepProps {
  sessionId: string
  email: string
  onNext(sessionId: string): void
}

/** A new code belongs to a new registration. */
function CodeStep({ sessionId: first, email, onNext }: CodeStepProps) {
  const [sessionId, setSessionId] = useState(first)
  const captcha = useCaptcha()
  const verify = async (values: Values): Promise<void> => {
    const verified = await client.call(verifyRegistrationEmail, { body: { sessionId, code: values('code') } })
    onNext(verified.sessionId)
  }
  return (
    <>
      <Form submit={t('registration.next')} onSubmit={verify}>
        <TextField
          label={t('kit.codeSent', { destination: email })}
          name="code"
          inputMode="numeric"
          autoComplete="one-time-code"
          required
          autoFocus
        />
      </Form>
      <Form
        submit={t('kit.sendAgain')}
        tone="quiet"
        onSubmit={async () => {
          const again = await captcha.send((turnstileToken) => initiate(email, turnstileToken))
          setSessionId(again.sessionId)
          notify(t('registration.sent'))
        }}
      >
        {captcha.field}
      </Form>
    </>
  )
}

function initiate(email: string, turnstileToken: string) {
  return client.call(initiateRegistration, { body: { email, turnstileToken } })
}
