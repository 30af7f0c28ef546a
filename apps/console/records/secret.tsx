import { useState } from 'react'
import { t } from '../../kit/i18n.ts'
import { notify } from '../../kit/toasts.tsx'

/** A secret that the gateway shows once. */
export function Secret({ secret, onClose }: { secret: string; onClose(): void }) {
  const [isCopied, setCopied] = useState(false)
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(secret)
    setCopied(true)
    notify(t('records.copied'))
  }
  return (
    <>
      <p>{t('records.secretOnce')}</p>
      <p className="records-secret">
        <code>{secret}</code>
      </p>
      <div className="form-actions">
        <button type="button" className="primary" onClick={() => void copy()}>
          {t(isCopied ? 'records.copyAgain' : 'records.copy')}
        </button>
        <button type="button" onClick={onClose}>
          {t('records.secretKept')}
        </button>
      </div>
    </>
  )
}
