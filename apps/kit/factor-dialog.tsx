import { useEffect, useState } from 'react'
import { Dialog } from './dialog.tsx'
import { Form, TextField } from './forms.tsx'
import { t } from './i18n.ts'
import { type FactorPrompt, onPrompt } from './prompts.ts'

/** Asks for the code of a sign-in or step-up, whenever the client needs one. */
export function FactorDialog() {
  const [prompt, setPrompt] = useState<FactorPrompt | null>(null)
  useEffect(() => onPrompt(setPrompt), [])
  if (!prompt) return null
  const { operationId, destination, refusal, answer, cancel } = prompt
  return (
    <Dialog title={t(operationId === null ? 'kit.factorSignIn' : 'kit.factorConfirm')} isOpen onClose={cancel}>
      {refusal !== null && (
        <p className="failure" role="alert">
          {refusal}
        </p>
      )}
      <Form submit={t('kit.confirm')} onSubmit={async (values) => answer(values('code'))}>
        <TextField
          label={destination === null ? t('kit.codeOfApp') : t('kit.codeSent', { destination })}
          name="code"
          autoComplete="one-time-code"
          inputMode="numeric"
          required
          autoFocus
        />
      </Form>
    </Dialog>
  )
}
