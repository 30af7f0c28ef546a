import type { WalletStatus, WorkspaceStatus } from 'portal-client'
import { Badge } from '../../kit/states.tsx'

/** Of a workspace or a wallet. */
export function ActiveBadge({ status }: { status: WorkspaceStatus | WalletStatus }) {
  return <Badge tone={status.code === 'ACTIVE' ? 'good' : 'bad'}>{status.label}</Badge>
}
