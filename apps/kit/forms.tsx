import { isPorticoError } from 'portal-client'
import { createContext, type FormEvent, type InputHTMLAttributes, type ReactNode, use, useId, useState } from 'react'
import { formatAmount, formatMoney } from './format.ts'
import { t } from './i18n.ts'
import { Failure } from './states.tsx'

/** The values of a form by the names of its fields, without blanks around. A missing field is an empty text. */
export type Values = (name: string) => string

interface FormProps {
  /** The text of the button. */
  submit: string
  onSubmit(values: Values, form: HTMLFormElement): Promise<unknown>
  children?: ReactNode
  /** Shown beside the button. */
  actions?: ReactNode
  tone?: 'primary' | 'danger' | 'quiet'
  /** The fields say why. */
  isBlocked?: boolean
}

const FieldErrors = createContext<ReadonlyMap<string, string>>(new Map())

/** Submits once at a time. A refusal is shown at the fields that it names, or above the button. */
export function Form({ submit, onSubmit, children, actions, tone = 'primary', isBlocked = false }: FormProps) {
  const [error, setError] = useState<unknown>(null)
  const [isMarked, setMarked] = useState(false)
  const [isBusy, setBusy] = useState(false)
  const handle = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault()
    const form = event.currentTarget
    const data = new FormData(form)
    setBusy(true)
    setError(null)
    try {
      await onSubmit((name) => (isPassword(form, name) ? rawOf(data.get(name)) : rawOf(data.get(name)).trim()), form)
    } catch (refused) {
      setError(refused)
      setMarked(marksEachField(form, refused))
    } finally {
      setBusy(false)
    }
  }
  return (
    <FieldErrors value={fieldErrorsOf(error)}>
      <form className="form" onSubmit={handle} aria-busy={isBusy}>
        {children}
        {error !== null &&
          (isMarked ? (
            <p className="failure" role="alert">
              {t('kit.fieldsInvalid')}
            </p>
          ) : (
            <Failure error={error} />
          ))}
        <div className="form-actions">
          <button type="submit" className={tone} disabled={isBusy || isBlocked}>
            {isBusy ? t('kit.working') : submit}
          </button>
          {actions}
        </div>
      </form>
    </FieldErrors>
  )
}

interface FieldProps extends Omit<InputHTMLAttributes<HTMLInputElement>, 'name' | 'id'> {
  label: string
  name: string
  hint?: ReactNode
}

export function TextField({ label, name, hint, ...input }: FieldProps) {
  return (
    <Labelled label={label} name={name} hint={hint}>
      {(attributes) => <input type="text" {...input} {...attributes} name={name} />}
    </Labelled>
  )
}

/**
 * A decimal amount. The keyboard of a phone has digits and the decimal point. The hint repeats the amount in the form of the
 * language: in some, a point separates thousands.
 */
export function AmountField({ currency, hint, ...props }: FieldProps & { currency?: string | undefined }) {
  const [typed, setTyped] = useState('')
  const reading = readAmount(typed.trim(), currency)
  return (
    <TextField
      {...props}
      inputMode="decimal"
      autoComplete="off"
      onInput={(event) => setTyped(event.currentTarget.value)}
      hint={
        <>
          {reading && <strong>{reading} </strong>}
          {hint ?? (reading ? null : currency)}
        </>
      }
    />
  )
}

interface ChoiceProps {
  label: string
  name: string
  hint?: ReactNode
  options: readonly { value: string; label: string }[]
  defaultValue?: string | undefined
  required?: boolean
  onChange?: (value: string) => void
}

export function SelectField({ label, name, hint, options, defaultValue, required, onChange }: ChoiceProps) {
  return (
    <Labelled label={label} name={name} hint={hint}>
      {(attributes) => (
        <select
          {...attributes}
          name={name}
          defaultValue={defaultValue}
          required={required}
          onChange={(event) => onChange?.(event.currentTarget.value)}
        >
          {options.map(({ value, label: text }) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Labelled>
  )
}

/** Its value is `on` or empty. Several boxes with one name are read by `values.getAll` of the form. */
export function CheckField({ label, ...input }: Omit<FieldProps, 'hint'>) {
  return (
    <label className="check">
      <input type="checkbox" {...input} />
      <span>{label}</span>
    </label>
  )
}

export function TextAreaField({
  label,
  name,
  hint,
  ...input
}: Pick<FieldProps, 'label' | 'name' | 'hint' | 'required' | 'defaultValue'>) {
  return (
    <Labelled label={label} name={name} hint={hint}>
      {(attributes) => <textarea rows={3} {...input} {...attributes} name={name} />}
    </Labelled>
  )
}

interface InputAttributes {
  id: string
  'aria-invalid': true | undefined
  'aria-describedby': string | undefined
}

function Labelled(props: {
  label: string
  name: string
  hint: ReactNode
  children(input: InputAttributes): ReactNode
}) {
  const { label, name, hint, children } = props
  const id = useId()
  const error = use(FieldErrors).get(name)
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ')
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({ id, 'aria-invalid': error ? true : undefined, 'aria-describedby': described || undefined })}
      {hint && (
        <p id={`${id}-hint`} className="hint">
          {hint}
        </p>
      )}
      {error && (
        <p id={`${id}-error`} className="field-error">
          {error}
        </p>
      )}
    </div>
  )
}

function readAmount(typed: string, currency: string | undefined): string | null {
  if (typed === '') return null
  if (!/^\d+(\.\d+)?$/.test(typed)) return t('kit.amountForm')
  return currency === undefined ? formatAmount(typed) : formatMoney(typed, currency)
}

function rawOf(value: FormDataEntryValue | null): string {
  return typeof value === 'string' ? value : ''
}

/** Blanks belong to a password. */
function isPassword(form: HTMLFormElement, name: string): boolean {
  const field = form.elements.namedItem(name)
  return field instanceof HTMLInputElement && field.type === 'password'
}

/** Whether the refusal names fields, and each of them is visible. */
function marksEachField(form: HTMLFormElement, error: unknown): boolean {
  if (!isPorticoError(error) || error.fields.length === 0) return false
  return error.fields.every(({ name }) => form.elements.namedItem(name) !== null)
}

function fieldErrorsOf(error: unknown): ReadonlyMap<string, string> {
  if (!isPorticoError(error)) return new Map()
  return new Map(
    error.fields.map(({ name, reason }) => [name, t(reason === 'missing' ? 'kit.fieldMissing' : 'kit.fieldInvalid')]),
  )
}
