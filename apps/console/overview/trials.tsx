import type { Overview } from 'portal-client'
import { formatAge, formatCount, formatShare, formatTime } from '../../kit/format.ts'
import { t } from '../../kit/i18n.ts'
import { Table } from '../../kit/list.tsx'
import { Section } from '../../kit/page.tsx'
import { Badge } from '../../kit/states.tsx'

type Trial = Overview['trials'][number]

/** The services that domains try besides their backends. Hidden without one. */
export function Trials({ trials }: Pick<Overview, 'trials'>) {
  const canaries = trials.flatMap(({ canary, ...trial }) => (canary ? [{ ...trial, canary }] : []))
  const shadows = trials.flatMap(({ shadow, ...trial }) => (shadow ? [{ ...trial, shadow }] : []))
  return (
    <>
      {canaries.length > 0 && <Canaries canaries={canaries} />}
      {shadows.length > 0 && <Shadows shadows={shadows} />}
    </>
  )
}

interface CanariesProps {
  canaries: readonly (Pick<Trial, 'replica' | 'domains' | 'backend'> & { canary: NonNullable<Trial['canary']> })[]
}

function Canaries({ canaries }: CanariesProps) {
  return (
    <Section title={t('overview.canaries')}>
      <Table
        label={t('overview.canaries')}
        items={canaries}
        keyOf={({ replica, domains }) => `${replica} ${domains.join()}`}
        columns={[
          { title: t('overview.domains'), cell: ({ domains }) => domains.join(', ') },
          { title: t('overview.canary'), cell: ({ canary }) => canary.url },
          { title: t('overview.backend'), cell: ({ backend }) => backend },
          { title: t('overview.replica'), cell: ({ replica }) => replica },
          {
            title: t('overview.canaryState'),
            cell: ({ canary }) => (
              <Badge tone={canary.isReturned ? 'bad' : 'good'}>
                {t(canary.isReturned ? 'overview.canaryReturned' : 'overview.canaryActive')}
              </Badge>
            ),
          },
          { title: t('overview.share'), align: 'end', cell: ({ canary }) => formatShare(canary.share) },
          { title: t('overview.named'), align: 'end', cell: ({ canary }) => formatCount(canary.named) },
          {
            title: t('overview.canaryFailures'),
            align: 'end',
            cell: ({ canary: { failures, requests } }) =>
              t('overview.ofRequests', { failures: formatCount(failures), requests: formatCount(requests) }),
          },
        ]}
      />
    </Section>
  )
}

interface ShadowsProps {
  shadows: readonly (Pick<Trial, 'replica' | 'domains'> & { shadow: NonNullable<Trial['shadow']> })[]
}

function Shadows({ shadows }: ShadowsProps) {
  const differences = shadows.flatMap(({ replica, shadow }) =>
    shadow.differences.map((difference) => ({ replica, ...difference })),
  )
  return (
    <Section title={t('overview.shadows')}>
      <ul className="overview-shadows">
        {shadows.map(({ replica, domains, shadow: { url, share } }) => (
          <li key={`${replica} ${domains.join()}`}>
            {t('overview.shadowOf', { domains: domains.join(', '), url, share: formatShare(share), replica })}
          </li>
        ))}
      </ul>
      {differences.length === 0 ? (
        <p>{t('overview.noDifferences')}</p>
      ) : (
        <Table
          label={t('overview.shadows')}
          items={differences}
          keyOf={({ replica, operation, kind, path }) => `${replica} ${operation} ${kind} ${path}`}
          columns={[
            { title: t('overview.operation'), cell: ({ operation }) => operation },
            { title: t('overview.difference'), cell: ({ kind }) => kindText(kind) },
            { title: t('overview.field'), cell: ({ path }) => <code>{path}</code> },
            { title: t('overview.count'), align: 'end', cell: ({ count }) => formatCount(count) },
            {
              title: t('overview.lastSeen'),
              cell: ({ lastAt }) => (
                <time dateTime={lastAt} title={formatTime(lastAt)}>
                  {formatAge(lastAt)}
                </time>
              ),
            },
            { title: t('overview.replica'), cell: ({ replica }) => replica },
          ]}
        />
      )}
    </Section>
  )
}

const kinds: ReadonlySet<string> = new Set([
  'refusal',
  'invalid',
  'schema',
  'missing',
  'added',
  'type',
  'value',
  'length',
])

/** A gateway of another version can have further kinds. */
function kindText(kind: string): string {
  return kinds.has(kind) ? t(`overview.kind_${kind}`) : kind
}
