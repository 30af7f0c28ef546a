import { type ReactNode, useId } from 'react'
import { useSearchParams } from 'wouter'
import { t } from './i18n.ts'

/** Filters of a list, which the URL keeps. */
export function Filters({ children }: { children: ReactNode }) {
  return (
    <search className="filters" aria-label={t('kit.filters')}>
      {children}
    </search>
  )
}

/** The value of a filter in the URL, or undefined. An empty value removes it. */
export function useFilter(name: string): [value: string | undefined, set: (value: string) => void] {
  const [search, setSearch] = useSearchParams()
  const set = (value: string): void =>
    setSearch(
      (current) => {
        const next = new URLSearchParams(current)
        if (value === '') next.delete(name)
        else next.set(name, value)
        return next
      },
      { replace: true },
    )
  return [search.get(name) || undefined, set]
}

/** The value of a filter if it is one of `choices`. */
export function useChoice<Choice extends string>(name: string, choices: readonly Choice[]): Choice | undefined {
  const [value] = useFilter(name)
  return choices.find((choice) => choice === value)
}

interface ChoiceProps {
  name: string
  label: string
  /** The first one is the default, which the URL does not contain. */
  options: readonly { value: string; label: string }[]
}

export function ChoiceFilter({ name, label, options }: ChoiceProps) {
  const id = useId()
  const initial = options[0]?.value
  const [value = initial, set] = useFilter(name)
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select
        id={id}
        value={value}
        onChange={({ currentTarget }) => set(currentTarget.value === initial ? '' : currentTarget.value)}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
    </div>
  )
}

/** A text is applied by Enter, or when the user leaves the field. */
export function InputFilter({ name, label, type }: { name: string; label: string; type: 'search' | 'date' }) {
  const id = useId()
  const [value = '', set] = useFilter(name)
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        key={value}
        id={id}
        type={type}
        defaultValue={value}
        onBlur={(event) => set(event.currentTarget.value.trim())}
        onKeyDown={(event) => {
          if (event.key === 'Enter') set(event.currentTarget.value.trim())
        }}
      />
    </div>
  )
}
