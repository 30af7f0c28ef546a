import type { RequestEntry } from 'portal-client'
import { t } from '../../kit/i18n.ts'
import { Badge, type Tone } from '../../kit/states.tsx'

const tones: Readonly<Record<RequestEntry['outcome'], Tone>> = {
  passed: 'good',
  refused: 'waiting',
  failed: 'bad',
  abandoned: 'neutral',
}

export function Outcome({ outcome }: Pick<RequestEntry, 'outcome'>) {
  return <Badge tone={tones[outcome]}>{t(`requests.outcome_${outcome}`)}</Badge>
}
