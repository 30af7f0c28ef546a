import type { ListRequestsQuery } from 'portal-client'
import { useSearchParams } from 'wouter'
import { t } from '../../kit/i18n.ts'
import { type Filter, oneOf } from '../records/filters.tsx'

const outcomes = ['passed', 'refused', 'failed', 'abandoned'] as const
const texts = ['operation', 'code', 'requestId', 'accountId', 'workspaceId'] as const
const labels = {
  operation: t('requests.operation'),
  code: t('requests.code'),
  requestId: t('requests.requestId'),
  accountId: t('requests.accountId'),
  workspaceId: t('requests.workspaceId'),
}

export const filters: readonly Filter[] = [
  {
    name: 'outcome',
    label: t('requests.outcome'),
    options: outcomes.map((value) => ({ value, label: t(`requests.outcome_${value}`) })),
  },
  ...texts.map((name) => ({ name, label: labels[name] })),
  { name: 'own', label: t('requests.own'), isCheck: true },
]

interface RequestFilter {
  query: Pick<ListRequestsQuery, 'outcome' | (typeof texts)[number]>
  /** Whether the list contains the requests of the console for its own views. */
  showsOwn: boolean
}

/** The filter in the URL. */
export function useRequestFilter(): RequestFilter {
  const [search] = useSearchParams()
  const text = (name: string): string | undefined => search.get(name) ?? undefined
  const query = {
    outcome: oneOf(outcomes, search.get('outcome')),
    operation: text('operation'),
    code: text('code'),
    requestId: text('requestId'),
    accountId: text('accountId'),
    workspaceId: text('workspaceId'),
  }
  const isNamed = query.requestId !== undefined || query.operation?.startsWith('observations.')
  return { query, showsOwn: search.has('own') || isNamed === true }
}
