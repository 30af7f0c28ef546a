import type { AccountStatus, AccountStatusCode } from 'portal-client'
import { Badge, type Tone } from '../../kit/states.tsx'

const tones: Readonly<Record<AccountStatusCode, Tone>> = {
  PENDING_APPROVAL: 'waiting',
  ACTIVE: 'good',
  SUSPENDED: 'bad',
  REJECTED: 'bad',
}

export function AccountStatusBadge({ status }: { status: AccountStatus }) {
  return <Badge tone={tones[status.code]}>{status.label}</Badge>
}
