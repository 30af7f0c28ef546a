import { type ReactNode, useState } from 'react'
import { Dialog } from '../dialog.tsx'
import { Form, type Values } from '../forms.tsx'

interface Props {
  /** Of the button, of the title of its dialog, and of the button that confirms. */
  label: string
  tone?: 'primary' | 'danger'
  /** Among others in a row, the first button has no color. */
  isPlain?: boolean
  /** What will happen, and fields if the command needs some. */
  children: ReactNode
  onConfirm(values: Values): Promise<unknown>
  disabled?: boolean
}

/** Asks before a command. Shows its refusal in the dialog. */
export function ConfirmButton({
  label,
  tone = 'danger',
  isPlain = false,
  children,
  onConfirm,
  disabled = false,
}: Props) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button type="button" className={isPlain ? undefined : tone} disabled={disabled} onClick={() => setOpen(true)}>
        {label}
      </button>
      <Dialog title={label} isOpen={isOpen} onClose={() => setOpen(false)}>
        <Form
          submit={label}
          tone={tone}
          onSubmit={async (values) => {
            await onConfirm(values)
            setOpen(false)
          }}
        >
          {children}
        </Form>
      </Dialog>
    </>
  )
}
