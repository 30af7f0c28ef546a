import { type AuditLog, listAuditLog } from 'portal-client'
import { useSearchParams } from 'wouter'
import { client } from '../../kit/client.ts'
import { t } from '../../kit/i18n.ts'
import { ListQuery } from '../../kit/list.tsx'
import { Page } from '../../kit/page.tsx'
import { ExportRows } from '../records/export-rows.tsx'
import { Filters, oneOf } from '../records/filters.tsx'
import { Entry } from './entry.tsx'
import { Verification } from './verification.tsx'

const outcomes = ['SUCCESS', 'REFUSED'] as const
const texts = ['action', 'actorId', 'targetId', 'workspaceId', 'requestId', 'orderNo', 'clientIp'] as const

/** The audit log, newest first, and the verification of its hash chain. */
export default function Audit() {
  const [search] = useSearchParams()
  const query = {
    ...Object.fromEntries(
      [...texts, 'startTime', 'endTime'].flatMap((name) => {
        const value = search.get(name)
        return value === null ? [] : [[name, value]]
      }),
    ),
    outcome: oneOf(outcomes, search.get('outcome')),
  }
  return (
    <Page title={t('audit.title')}>
      <Verification />
      <Filters label={t('audit.filters')} filters={filters} />
      <ListQuery
        queryKey={['audit', query]}
        read={(before) => client.call(listAuditLog, { query: { ...query, before } })}
        empty={t('audit.empty')}
      >
        {(entries) => (
          <>
            <ul className="audit-list" aria-label={t('audit.entries')}>
              {entries.map((entry) => (
                <li key={entry.bizId}>
                  <Entry entry={entry} />
                </li>
              ))}
            </ul>
            <ExportRows name="audit-log" header={header} rows={() => entries.map(rowOf)} />
          </>
        )}
      </ListQuery>
    </Page>
  )
}

const filters = [
  ...texts.map((name) => ({ name, label: t(`audit.by_${name}`) })),
  {
    name: 'outcome',
    label: t('audit.outcome'),
    options: outcomes.map((value) => ({ value, label: t(`audit.outcome_${value}`) })),
  },
  { name: 'startTime', label: t('records.from'), isTime: true },
  { name: 'endTime', label: t('records.to'), isTime: true },
]

const header = [
  ...['sequence', 'at', 'portal', 'action', 'outcome', 'actorBizId', 'targetBizId', 'workspaceBizId', 'requestId'],
  ...['clientIp', 'detail', 'hash'],
]

function rowOf(entry: AuditLog) {
  const { sequence, at, portal, action, outcome, actorBizId, targetBizId, workspaceBizId, requestId } = entry
  return [
    ...[sequence, at, portal.code, action, outcome.code, actorBizId, targetBizId, workspaceBizId, requestId],
    ...[entry.clientIp, JSON.stringify(entry.detail), entry.hash],
  ]
}
