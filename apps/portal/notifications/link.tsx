import { Link } from 'wouter'
import { t } from '../../kit/i18n.ts'
import { usePermission } from '../../kit/session.tsx'
import { useNotices } from './live.tsx'

/** In the head of the frame, with the number of new events. */
export function NotificationsLink() {
  const { events, seenUntil } = useNotices()
  const count = events?.filter(({ time }) => time > seenUntil).length ?? 0
  if (!usePermission('event:read')) return null
  return (
    <Link
      href="/notifications"
      className="notifications-link"
      aria-label={count === 0 ? t('notifications.title') : t('notifications.unseen', { count })}
    >
      <svg viewBox="0 0 24 24" width="20" height="20" aria-hidden="true">
        <path
          d="M6 10a6 6 0 0 1 12 0c0 5 2 6 2 7H4c0-1 2-2 2-7Zm4 10h4"
          fill="none"
          stroke="currentColor"
          strokeWidth="1.8"
          strokeLinecap="round"
          strokeLinejoin="round"
        />
      </svg>
      {count > 0 && <span aria-hidden="true">{count > 99 ? '99+' : count}</span>}
    </Link>
  )
}
