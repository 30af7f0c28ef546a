import type { Invitation } from 'portal-client'
import { Badge, type Tone } from '../../kit/states.tsx'

export function InvitationStatus({ invitation: { invitationStatus } }: { invitation: Invitation }) {
  return <Badge tone={tones[invitationStatus.code]}>{invitationStatus.label}</Badge>
}

const tones: Readonly<Record<Invitation['invitationStatus']['code'], Tone>> = {
  PENDING: 'waiting',
  SUSPENDED: 'bad',
  ACCEPTED: 'good',
  DECLINED: 'neutral',
  CANCELLED: 'neutral',
  EXPIRED: 'neutral',
}
