import type { WebhookDeliveryStatus, WebhookDeliveryStatusCode, WebhookStatus, WebhookStatusCode } from 'portal-client'
import { Badge, type Tone } from '../../kit/states.tsx'

export const statuses = ['ACTIVE', 'FAILED', 'DISABLED', 'SUSPENDED', 'DELETED'] as const
export const deliveryStatuses = ['PENDING', 'DELIVERED', 'FAILED', 'WITHHELD'] as const

const tones: Readonly<Record<WebhookStatusCode | WebhookDeliveryStatusCode, Tone>> = {
  ACTIVE: 'good',
  DELIVERED: 'good',
  PENDING: 'waiting',
  DISABLED: 'waiting',
  WITHHELD: 'waiting',
  FAILED: 'bad',
  SUSPENDED: 'bad',
  DELETED: 'neutral',
}

/** Of a webhook or a delivery. */
export function WebhookBadge({ status }: { status: WebhookStatus | WebhookDeliveryStatus }) {
  return <Badge tone={tones[status.code]}>{status.label}</Badge>
}
