import { type ReactNode, useState } from 'react'
import { refreshData } from '../../kit/app.tsx'
import { Secret } from '../../kit/command/secret.tsx'
import { Dialog } from '../../kit/dialog.tsx'
import { Form, type Values } from '../../kit/forms.tsx'
import { t } from '../../kit/i18n.ts'
import { Blocked, useMissing } from './command.tsx'

interface Props {
  label: string
  question: string
  permission: string
  /** Returns the secret. Null if the user has it already. */
  run(form: Values): Promise<string | null>
  /** The fields of the dialog. */
  children?: ReactNode
}

/** A command whose reply has a secret, which its dialog shows once. */
export function SecretCommand({ label, question, permission, run, children }: Props) {
  const missing = useMissing(permission)
  const [isOpen, setOpen] = useState(false)
  const [secret, setSecret] = useState<string | null>(null)
  const close = (): void => {
    setOpen(false)
    setSecret(null)
  }
  const submit = async (form: Values): Promise<void> => {
    const shown = await run(form)
    if (shown === null) close()
    else setSecret(shown)
    await refreshData()
  }
  if (missing !== null) return <Blocked label={label} why={missing} />
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        {label}
      </button>
      <Dialog title={label} isOpen={isOpen} onClose={close}>
        {secret !== null ? (
          <>
            <Secret label={t('records.secret')} value={secret} />
            <div className="form-actions">
              <button type="button" className="primary" onClick={close}>
                {t('records.secretKept')}
              </button>
            </div>
          </>
        ) : (
          <>
            <p>{question}</p>
            <Form submit={label} onSubmit={submit}>
              {children}
            </Form>
          </>
        )}
      </Dialog>
    </>
  )
}
