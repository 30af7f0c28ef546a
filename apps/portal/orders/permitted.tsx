import type { ReactNode } from 'react'
import { permissionName, t } from '../../kit/i18n.ts'
import { usePermission } from '../../kit/session.tsx'

/** Shows `children` to users with the permission, and the missing permission to the others. */
export function Permitted({ permission, children }: { permission: string; children: ReactNode }) {
  if (usePermission(permission)) return children
  return <p className="hint">{t('orders.needsPermission', { permission: permissionName(permission) })}</p>
}
