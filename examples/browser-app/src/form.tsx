import { type FormEvent, type ReactNode, useState } from 'react'
import { type CodePrompt, textOf } from './client.ts'

interface FormProps {
  button: string
  children: ReactNode
  /** Gets the value of a field by its name. */
  onSubmit(valueOf: (name: string) => string): Promise<void>
}

/** Submits once at a time, and shows a refusal. */
export function Form({ button, children, onSubmit }: FormProps) {
  const [error, setError] = useState<string | null>(null)
  const [isBusy, setBusy] = useState(false)
  const submit = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault()
    const values = new FormData(event.currentTarget)
    setBusy(true)
    setError(null)
    try {
      await onSubmit((name) => String(values.get(name)))
    } catch (refused) {
      setError(textOf(refused))
    } finally {
      setBusy(false)
    }
  }
  return (
    <form onSubmit={submit}>
      {children}
      {error && <p role="alert">{error}</p>}
      <button disabled={isBusy}>{button}</button>
    </form>
  )
}

export function CodeDialog({ label, error, submit, cancel }: CodePrompt) {
  return (
    <dialog ref={(dialog) => dialog?.showModal()} onCancel={cancel} aria-label="Confirm">
      {error && <p role="alert">{error}</p>}
      <Form button="Confirm" onSubmit={async (valueOf) => submit(valueOf('code'))}>
        <label>
          {label}
          <input name="code" inputMode="numeric" autoComplete="one-time-code" required autoFocus />
        </label>
      </Form>
      <button type="button" onClick={cancel}>
        Cancel
      </button>
    </dialog>
  )
}
