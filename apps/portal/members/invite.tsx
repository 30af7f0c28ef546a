import { Link } from 'wouter'
import { t } from '../../kit/i18n.ts'
import { usePermission } from '../../kit/session.tsx'

/** The link to the form for an invitation. Hidden from users who may not invite. */
export function Invite() {
  if (!usePermission('invitation:manage')) return null
  return (
    <Link href="/invitations/new" className="button primary">
      {t('members.invite')}
    </Link>
  )
}
