import { readOwnSession } from 'portal-client'
import { useEffect, useState } from 'react'
import { client } from './client.ts'
import { t } from './i18n.ts'
import { useSession } from './session.tsx'

/** The time before the end of a session in which the page announces it. */
const noticeMs = 120_000

/** Announces the end of the session. Only an idle session can be prolonged. */
export function SessionEnd() {
  const { idleExpiresAt, expiresAt, refresh } = useSession()
  const endsAt = Math.min(Date.parse(idleExpiresAt), Date.parse(expiresAt))
  const isFinal = endsAt === Date.parse(expiresAt)
  const [leftMs, setLeftMs] = useState(() => endsAt - Date.now())
  useEffect(() => {
    const update = (): void => setLeftMs(endsAt - Date.now())
    update()
    const timer = setInterval(update, 1_000)
    return () => clearInterval(timer)
  }, [endsAt])
  if (leftMs > noticeMs || leftMs < 0) return null
  const stay = async (): Promise<void> => {
    await client.call(readOwnSession)
    await refresh()
  }
  return (
    <div className="session-end" role="alert">
      <p>{t(isFinal ? 'kit.sessionEndsFinally' : 'kit.sessionEnds', { seconds: Math.ceil(leftMs / 1_000) })}</p>
      {!isFinal && (
        <button type="button" onClick={() => void stay()}>
          {t('kit.stay')}
        </button>
      )}
    </div>
  )
}
