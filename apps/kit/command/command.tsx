import { type ReactNode, useState } from 'react'
import { refreshData } from '../app.tsx'
import { Dialog } from '../dialog.tsx'
import { Form, type Values } from '../forms.tsx'
import { t } from '../i18n.ts'
import { notify } from '../toasts.tsx'

interface Props<Reply> {
  /** The text of both buttons. */
  label: string
  /** Completes the label for screen readers, such as the name of the row. */
  subject?: string
  /** The title of the dialog, such as the question. Default: the label. */
  title?: string
  /** The effect of the command, and its fields. */
  children?: ReactNode
  /** The notice afterwards. Without it, the page shows the result. */
  done?: string | ((reply: Reply) => string)
  /** That of both buttons. Without it, the first one is plain. */
  tone?: 'primary' | 'danger' | undefined
  disabled?: boolean
  run(values: Values, form: HTMLFormElement): Promise<Reply>
}

/** A button that asks before it runs a command. The dialog shows a refusal. */
export function Command<Reply>({ label, subject, title = label, children, done, tone, disabled, run }: Props<Reply>) {
  const [isOpen, setOpen] = useState(false)
  const [isBusy, setBusy] = useState(false)
  // A click in the dialog of a step-up is outside of this one.
  const close = (): void => setOpen(isBusy)
  const submit = async (values: Values, form: HTMLFormElement): Promise<void> => {
    setBusy(true)
    let reply: Reply
    try {
      reply = await run(values, form)
    } finally {
      setBusy(false)
    }
    setOpen(false)
    if (done !== undefined) notify(typeof done === 'string' ? done : done(reply))
    await refreshData()
  }
  return (
    <>
      <button
        type="button"
        className={tone}
        disabled={disabled}
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
