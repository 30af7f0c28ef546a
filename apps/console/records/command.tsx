import { type ReactNode, useId } from 'react'
import { Command as AskedCommand } from '../../kit/command/command.tsx'
import { TextAreaField, type Values } from '../../kit/forms.tsx'
import { permissionName, t } from '../../kit/i18n.ts'
import { usePermission } from '../../kit/session.tsx'

interface Props<Reply> {
  /** The text of the button, which is also the title of the dialog. */
  label: string
  /** What the command does. Shown in the dialog. */
  question: string
  /** The notice after the command. */
  done: string | ((reply: Reply) => string)
  run(values: Values): Promise<Reply>
  /** Why the user cannot run the command now. */
  blocked?: string | null | undefined
  tone?: 'danger'
  /** Asks for the reason, as the field `reason`. */
  asksReason?: boolean
  /** Further fields of the dialog. */
  children?: ReactNode
}

/** A button whose dialog asks before it runs a command. A blocked command says why. */
export function Command<Reply>({ question, blocked, asksReason = false, children, ...command }: Props<Reply>) {
  if (blocked) return <Blocked label={command.label} why={blocked} />
  return (
    <AskedCommand {...command}>
      <p>{question}</p>
      {children}
      {asksReason && <TextAreaField label={t('records.reason')} name="reason" required />}
    </AskedCommand>
  )
}

/** A command below others, with a sentence about it. */
export function CommandRow({ about, children }: { about: ReactNode; children: ReactNode }) {
  return (
    <div className="records-row">
      <p>{about}</p>
      {children}
    </div>
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
