import { type ReactNode, useState } from 'react'
import { refreshData } from '../app.tsx'
import { Dialog } from '../dialog.tsx'
import { Form, type Values } from '../forms.tsx'
import { t } from '../i18n.ts'
import { notify } from '../toasts.tsx'

interface Props {
  /** The text of both buttons. */
  label: string
  /** Completes the label for screen readers, such as the name of the row. */
  subject?: string
  /** The question. */
  title: string
  /** The effect of the command, and its fields. */
  children?: ReactNode
  /** The notice afterwards. */
  done: string
  /** That of both buttons. Without it, the first one is plain. */
  tone?: 'primary' | 'danger'
  run(values: Values, form: HTMLFormElement): Promise<unknown>
}

/** A button that asks before it runs a command. */
export function Command({ label, subject, title, children, done, tone, run }: Props) {
  const [isOpen, setOpen] = useState(false)
  const [isBusy, setBusy] = useState(false)
  // A click in the dialog of a step-up is outside of this one.
  const close = (): void => setOpen(isBusy)
  const submit = async (values: Values, form: HTMLFormElement): Promise<void> => {
    setBusy(true)
    try {
      await run(values, form)
    } finally {
      setBusy(false)
    }
    setOpen(false)
    notify(done)
    await refreshData()
  }
  return (
    <>
      <button
        type="button"
        className={tone}
        aria-label={subject === undefined ? undefined : `${label}: ${subject}`}
        onClick={() => setOpen(true)}
      >
        {label}
      </button>
      <Dialog title={title} isOpen={isOpen} onClose={close}>
        <Form
          submit={label}
          {...(tone && { tone })}
          onSubmit={submit}
          actions={
            <button type="button" className="quiet" onClick={close}>
              {t('kit.cancel')}
            </button>
          }
        >
          {children}
        </Form>
      </Dialog>
    </>
  )
}
