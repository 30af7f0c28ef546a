import { readProfile } from 'portal-client'
import { useEffect, useState } from 'react'
import { client, gatewayNow } from './client.ts'
import { t } from './i18n.ts'
import { useSession } from './session.tsx'

/** The time before the end of a session in which the page announces it. */
const noticeMs = 120_000
/** While the end is announced, another tab can prolong the session. */
const checkMs = 15_000

/** Announces the end of the session. Only an idle session can be prolonged. */
export function SessionEnd() {
  const { idleExpiresAt, expiresAt, refresh } = useSession()
  const endsAt = Math.min(Date.parse(idleExpiresAt), Date.parse(expiresAt))
  const isFinal = endsAt === Date.parse(expiresAt)
  const leftMs = useLeftMs(endsAt)
  const isNear = leftMs <= noticeMs && leftMs > 0
  // Each call prolongs the session, which only the gateway knows.
  const [checkedAt, setCheckedAt] = useState<number | null>(null)
  useEffect(() => {
    if (!isNear) return
    const check = (): void => {
      refresh().then(
        () => setCheckedAt(endsAt),
        () => setCheckedAt(endsAt),
      )
    }
    check()
    const timer = setInterval(check, checkMs)
    return () => clearInterval(timer)
  }, [isNear, endsAt, refresh])
  if (!isNear || checkedAt !== endsAt) return null
  const stay = async (): Promise<void> => {
    await client.call(readProfile)
    await refresh()
  }
  return (
    <div className="session-end">
      <p role="alert">{t('kit.sessionEndsSoon')}</p>
      {/* Screen readers do not announce each second of a timer. */}
      <p role="timer">
        {t(isFinal ? 'kit.sessionEndsFinally' : 'kit.sessionEnds', { seconds: Math.ceil(leftMs / 1_000) })}
      </p>
      {!isFinal && (
        <button type="button" onClick={() => void stay().catch(() => undefined)}>
          {t('kit.stay')}
        </button>
      )}
    </div>
  )
}

function useLeftMs(endsAt: number): number {
  const [leftMs, setLeftMs] = useState(() => endsAt - gatewayNow())
  useEffect(() => {
    const update = (): void => setLeftMs(endsAt - gatewayNow())
    update()
    const timer = setInterval(update, 1_000)
    return () => clearInterval(timer)
  }, [endsAt])
  return leftMs
}
