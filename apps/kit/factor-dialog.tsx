import { useQuery } from '@tanstack/react-query'
import { initiateProviderStepUp, listLinkedProviders } from 'portal-client'
import { useEffect, useState } from 'react'
import { client } from './client.ts'
import { PromptDialog } from './dialog.tsx'
import { formatWait } from './format.ts'
import { Form, TextField } from './forms.tsx'
import { t } from './i18n.ts'
import { type Factor, type FactorPrompt, onPrompt } from './prompts.ts'
import { leaveForProvider } from './sign-in/attempt.ts'
import { Failure } from './states.tsx'

/** Asks for the factor of a sign-in or step-up, whenever the client needs one. */
export function FactorDialog() {
  const [prompt, setPrompt] = useState<FactorPrompt | null>(null)
  useEffect(() => onPrompt(setPrompt), [])
  if (!prompt) return null
  const { purpose, mfaMethod, destination, refusal, isTooSoon, answer, cancel } = prompt
  return (
    <PromptDialog title={t(purpose === null ? 'kit.factorSignIn' : 'kit.factorConfirm')} isOpen onClose={cancel}>
      {refusal !== null && (
        <div className="failure" role="alert">
          <p>{refusal}</p>
        </div>
      )}
      {isTooSoon && (
        <p className="notice" role="status">
          {t('kit.mailTooSoon')}
        </p>
      )}
      <Form key={mfaMethod} submit={t('kit.confirm')} onSubmit={async (values) => answer(values('code'))}>
        <TextField
          label={labelOf(mfaMethod, destination)}
          name="code"
          autoComplete="one-time-code"
          inputMode={mfaMethod === 'BACKUP_CODE' ? 'text' : 'numeric'}
          required
          autoFocus
        />
      </Form>
      <OtherWays prompt={prompt} />
    </PromptDialog>
  )
}

function OtherWays({ prompt: { purpose, mfaMethod, mfaMethods, nextMailAt, answer } }: { prompt: FactorPrompt }) {
  const others = mfaMethods.filter((method) => method !== mfaMethod)
  return (
    <div className="form-actions">
      {mfaMethod === 'EMAIL' && (
        <SendAgain key={nextMailAt} nextMailAt={nextMailAt} onSend={() => answer({ mfaMethod })} />
      )}
      {others.map((method) => (
        <button key={method} type="button" onClick={() => answer({ mfaMethod: method })}>
          {t(ways[method])}
        </button>
      ))}
      {purpose !== null && <Providers purpose={purpose} />}
    </div>
  )
}

/** Counts down until the gateway mails another code. */
function SendAgain({ nextMailAt, onSend }: { nextMailAt: number | null; onSend(): void }) {
  const seconds = useSecondsUntil(nextMailAt)
  return (
    <button type="button" onClick={onSend} disabled={seconds > 0}>
      {seconds > 0 ? t('kit.sendAgainIn', { wait: formatWait(seconds) }) : t('kit.sendAgain')}
    </button>
  )
}

function useSecondsUntil(instant: number | null): number {
  const [now, setNow] = useState(() => Date.now())
  const seconds = instant === null ? 0 : Math.max(0, Math.ceil((instant - now) / 1_000))
  const isOver = seconds === 0
  useEffect(() => {
    if (isOver) return undefined
    const timer = setInterval(() => setNow(Date.now()), 1_000)
    return () => clearInterval(timer)
  }, [isOver])
  return seconds
}

/** A fresh sign-in at a provider also confirms. The browser leaves the page for it. */
function Providers({ purpose }: { purpose: NonNullable<FactorPrompt['purpose']> }) {
  const { data } = useQuery({ queryKey: ['linked-providers'], queryFn: () => client.call(listLinkedProviders) })
  const [error, setError] = useState<unknown>(null)
  const leave = async (providerId: string): Promise<void> =>
    leaveForProvider('step-up', await client.call(initiateProviderStepUp, { body: { providerId, purpose } }))
  return (
    <>
      {data?.map(({ providerId, name }) => (
        <button key={providerId} type="button" onClick={() => leave(providerId).catch(setError)}>
          {t('kit.confirmAt', { name })}
        </button>
      ))}
      {error !== null && <Failure error={error} />}
    </>
  )
}

const ways: Readonly<Record<Factor, string>> = {
  EMAIL: 'kit.useMail',
  OTP: 'kit.useApp',
  BACKUP_CODE: 'kit.useBackupCode',
  PASSKEY: 'kit.usePasskey',
}

function labelOf(mfaMethod: Factor, destination: string | null): string {
  if (destination !== null) return t('kit.codeSent', { destination })
  if (mfaMethod === 'EMAIL') return t('kit.codeOfMail')
  return t(mfaMethod === 'BACKUP_CODE' ? 'kit.backupCode' : 'kit.codeOfApp')
}
