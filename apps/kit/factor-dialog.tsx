import { useQuery } from '@tanstack/react-query'
import { initiateProviderStepUp, listLinkedProviders } from 'portal-client'
import { useEffect, useState } from 'react'
import { client } from './client.ts'
import { PromptDialog } from './dialog.tsx'
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
  const { purpose, mfaMethod, destination, refusal, answer, cancel } = prompt
  return (
    <PromptDialog title={t(purpose === null ? 'kit.factorSignIn' : 'kit.factorConfirm')} isOpen onClose={cancel}>
      {refusal !== null && (
        <div className="failure" role="alert">
          <p>{refusal}</p>
        </div>
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

function OtherWays({ prompt: { purpose, mfaMethod, mfaMethods, answer } }: { prompt: FactorPrompt }) {
  const others = mfaMethods.filter((method) => method !== mfaMethod)
  return (
    <div className="form-actions">
      {mfaMethod === 'EMAIL' && (
        <button type="button" onClick={() => answer({ mfaMethod })}>
          {t('kit.sendAgain')}
        </button>
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
  return t(mfaMethod === 'BACKUP_CODE' ? 'kit.backupCode' : 'kit.codeOfApp')
}
