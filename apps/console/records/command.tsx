import { type ReactNode, useId, useState } from 'react'
import { refreshData } from '../../kit/app.tsx'
import { Dialog } from '../../kit/dialog.tsx'
import { Form, TextAreaField, type Values } from '../../kit/forms.tsx'
import { permissionName, t } from '../../kit/i18n.ts'
import { usePermission } from '../../kit/session.tsx'
import { notify } from '../../kit/toasts.tsx'

interface CommandProps<Reply> {
  /** The text of the button, which is also the title of the dialog. */
  label: string
  /** What the command does. Shown in the dialog. */
  question: string
  /** The notice after the command. */
  done: string | ((reply: Reply) => string)
  run(values: Values): Promise<Reply>
  /** Why the user cannot run the command now. */
  blocked?: string | null | undefined
  tone?: 'primary' | 'danger'
  /** Asks for the reason, as the field `reason`. */
  asksReason?: boolean
  /** Further fields of the dialog. */
  children?: ReactNode
}

/** A button whose dialog asks before it runs a command. A blocked command says why. */
export function Command<Reply>(props: CommandProps<Reply>) {
  const { label, question, done, run, blocked, tone = 'primary', asksReason = false, children } = props
  const [isOpen, setOpen] = useState(false)
  const submit = async (values: Values): Promise<void> => {
    const reply = await run(values)
    setOpen(false)
    notify(typeof done === 'string' ? done : done(reply))
    await refreshData()
  }
  if (blocked) return <Blocked label={label} why={blocked} />
  return (
    <>
      <button type="button" className={tone === 'danger' ? 'danger' : undefined} onClick={() => setOpen(true)}>
        {label}
      </button>
      <Dialog title={label} isOpen={isOpen} onClose={() => setOpen(false)}>
        <p>{question}</p>
        <Form submit={label} tone={tone} onSubmit={submit}>
          {children}
          {asksReason && <TextAreaField label={t('records.reason')} name="reason" required />}
        </Form>
      </Dialog>
    </>
  )
}

/** The button of a command that the user cannot run now. */
export function Blocked({ label, why }: { label: string; why: string }) {
  const id = useId()
  return (
    <span className="records-blocked">
      <button type="button" disabled aria-describedby={id}>
        {label}
      </button>
      <span id={id} className="hint">
        {why}
      </span>
    </span>
  )
}

/** Why the user cannot run a command: the missing permission, or null. */
export function useMissing(permission: string): string | null {
  const has = usePermission(permission)
  return has ? null : t('records.needsPermission', { permission: permissionName(permission) })
}
