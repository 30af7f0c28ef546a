import type { AllApiKey } from 'portal-client'
import { t } from '../../kit/i18n.ts'
import { Badge, type Tone } from '../../kit/states.tsx'
import { Time } from '../../kit/time.tsx'

/** Those that the list can be filtered by. */
export const statuses = ['ACTIVE', 'DISABLED', 'EXPIRED', 'SUSPENDED', 'DELETED'] as const

export function KeyStatus({ status: { code, label } }: { status: AllApiKey['apiKeyStatus'] }) {
  return <Badge tone={tones[code]}>{label}</Badge>
}

const tones: Readonly<Record<AllApiKey['apiKeyStatus']['code'], Tone>> = {
  ACTIVE: 'good',
  DISABLED: 'waiting',
  EXPIRED: 'neutral',
  SUSPENDED: 'bad',
  DELETED: 'neutral',
}

export function Expiry({ apiKey: { expiresAt, expiresSoon } }: { apiKey: AllApiKey }) {
  if (expiresAt === null) return t('api-keys.never')
  return (
    <>
      <Time at={expiresAt} /> {expiresSoon && <Badge tone="waiting">{t('api-keys.expiresSoon')}</Badge>}
    </>
  )
}
