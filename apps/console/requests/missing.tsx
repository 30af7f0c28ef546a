import { formatAge } from '../../kit/format.ts'
import { t } from '../../kit/i18n.ts'

interface Props {
  missing: readonly { replica: string; lastSeenAt: string }[]
}

/** Names the replicas whose part a reply lacks. */
export function MissingReplicas({ missing }: Props) {
  if (missing.length === 0) return null
  return (
    <div className="notice">
      <p>{t('requests.missing')}</p>
      <ul>
        {missing.map(({ replica, lastSeenAt }) => (
          <li key={replica}>{t('requests.lastSeen', { replica, age: formatAge(lastSeenAt) })}</li>
        ))}
      </ul>
    </div>
  )
}
