import type { FormEvent } from 'react'
import { useLocation } from 'wouter'
import { t } from '../../kit/i18n.ts'

interface Props {
  /** Names the field for screen readers. */
  label: string
  /** The text that was searched for last. */
  text?: string
  isCompact?: boolean
}

/** Leads to the page with the matches. */
export function FindField({ label, text = '', isCompact = false }: Props) {
  const [, navigate] = useLocation()
  const find = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault()
    const value = new FormData(event.currentTarget).get('q')
    if (typeof value === 'string' && value.trim() !== '') navigate(pathOf(value.trim()))
  }
  return (
    <search aria-label={label} className={isCompact ? 'find-compact' : undefined}>
      <form className="find-field" onSubmit={find}>
        <input
          key={text}
          type="search"
          name="q"
          defaultValue={text}
          aria-label={label}
          placeholder={t('find.example')}
          autoComplete="off"
          spellCheck={false}
        />
        <button type="submit">{t('find.submit')}</button>
      </form>
    </search>
  )
}

/** A text can end with a period or contain a slash. */
function pathOf(text: string): string {
  return `/find?${new URLSearchParams({ q: text })}`
}
