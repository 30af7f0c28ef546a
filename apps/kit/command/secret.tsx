import { useId, useRef, useState } from 'react'
import { t } from '../i18n.ts'

/** A secret that the gateway shows once, with a button that copies it. */
export function Secret({ label, value }: { label: string; value: string }) {
  const id = useId()
  const field = useRef<HTMLInputElement>(null)
  const [isCopied, setCopied] = useState(false)
  const copy = (): void => {
    navigator.clipboard.writeText(value).then(
      () => setCopied(true),
      // Without the permission, the user copies the selection.
      () => field.current?.select(),
    )
  }
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <div className="secret">
        <input
          ref={field}
          id={id}
          type="text"
          className="code"
          readOnly
          value={value}
          aria-describedby={`${id}-hint`}
          onFocus={(event) => event.currentTarget.select()}
        />
        <button type="button" onClick={copy}>
          {t('command.copy')}
        </button>
      </div>
      <p id={`${id}-hint`} className="hint" role="status">
        {t(isCopied ? 'command.copied' : 'command.once')}
      </p>
    </div>
  )
}
