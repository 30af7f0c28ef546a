import { useEffect, useRef } from 'react'
import { useSearchParams } from 'wouter'
import { CheckField, SelectField, TextField } from '../../kit/forms.tsx'
import { t } from '../../kit/i18n.ts'

/** A filter of a list. Its name is the parameter in the URL. */
export interface Filter {
  name: string
  label: string
  /** Choices. Without them, the filter is a text. */
  options?: readonly { value: string; label: string }[]
  /** One of the choices always applies. The first one is the default. */
  isRequired?: boolean
  /** The filter is a time, which the URL has in ISO 8601. */
  isTime?: boolean
  /** The filter is a box. */
  isCheck?: boolean
}

/** The filters of a list, which the URL keeps. */
export function Filters({ label, filters }: { label: string; filters: readonly Filter[] }) {
  const [search, setSearch] = useSearchParams()
  const form = useRef<HTMLFormElement>(null)
  // The fields follow the URL, such as after "back".
  useEffect(() => {
    for (const filter of filters) {
      const field = form.current?.elements.namedItem(filter.name)
      if (field instanceof HTMLInputElement && filter.isCheck) field.checked = search.has(filter.name)
      else if (field instanceof HTMLInputElement || field instanceof HTMLSelectElement)
        field.value = fieldOf(
          filter,
          search.get(filter.name) ?? (filter.isRequired ? filter.options?.[0]?.value : null) ?? '',
        )
    }
  }, [filters, search])
  const apply = (data: FormData): void =>
    setSearch((before) => {
      const next = new URLSearchParams(before)
      for (const filter of filters) {
        const value = data.get(filter.name)
        const text = typeof value === 'string' ? value.trim() : ''
        if (text === '') next.delete(filter.name)
        else next.set(filter.name, filter.isTime ? new Date(text).toISOString() : text)
      }
      return next
    })
  const isFiltered = filters.some(({ name, isRequired }) => !isRequired && search.has(name))
  return (
    <search>
      <form
        ref={form}
        className="filters"
        aria-label={label}
        onSubmit={(event) => {
          event.preventDefault()
          apply(new FormData(event.currentTarget))
        }}
      >
        {filters.map((filter) => (
          <FilterField key={filter.name} filter={filter} />
        ))}
        <div className="form-actions">
          <button type="submit">{t('records.filter')}</button>
          {isFiltered && (
            <button type="button" className="quiet" onClick={() => apply(new FormData())}>
              {t('records.clear')}
            </button>
          )}
        </div>
      </form>
    </search>
  )
}

/** The value of a parameter if it is one of `values`. */
export function oneOf<const Value extends string>(values: readonly Value[], text: string | null): Value | undefined {
  return values.find((value) => value === text)
}

function FilterField({ filter: { name, label, options, isRequired, isTime, isCheck } }: { filter: Filter }) {
  const all = isRequired ? [] : [{ value: '', label: t('records.any') }]
  if (options) return <SelectField label={label} name={name} options={[...all, ...options]} />
  if (isCheck) return <CheckField label={label} name={name} />
  return isTime ? (
    <TextField label={label} name={name} type="datetime-local" />
  ) : (
    <TextField label={label} name={name} autoComplete="off" spellCheck={false} />
  )
}

function fieldOf({ isTime }: Filter, value: string): string {
  const at = new Date(value)
  if (!isTime || Number.isNaN(at.getTime())) return isTime ? '' : value
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
