import { type ReactNode, useState } from 'react'
import { refreshData } from '../../kit/app.tsx'
import { Dialog } from '../../kit/dialog.tsx'
import { Form, type Values } from '../../kit/forms.tsx'
import { notify } from '../../kit/toasts.tsx'

interface Props {
  /** Of both buttons. */
  label: string
  /** Names what the user confirms. */
  question: string
  /** The notice after success. */
  done: string
  run(values: Values): Promise<unknown>
  /** Consequences, and fields. */
  children?: ReactNode
  tone?: 'primary' | 'danger'
}

/** A button whose command asks first. */
export function CommandButton({ label, question, done, run, children, tone = 'danger' }: Props) {
  const [isOpen, setOpen] = useState(false)
  const submit = async (values: Values): Promise<void> => {
    await run(values)
    setOpen(false)
    notify(done)
    await refreshData()
  }
  return (
    <>
      <button type="button" className={tone} onClick={() => setOpen(true)}>
        {label}
      </button>
      <Dialog title={question} isOpen={isOpen} onClose={() => setOpen(false)}>
        <Form submit={label} tone={tone} onSubmit={submit}>
          {children}
        </Form>
      </Dialog>
    </>
  )
}
