import { useQueries } from '@tanstack/react-query'
import { Link, useSearchParams } from 'wouter'
import { permissionName, t } from '../../kit/i18n.ts'
import { Table } from '../../kit/list.tsx'
import { Page, Section } from '../../kit/page.tsx'
import { useSession } from '../../kit/session.tsx'
import { Empty, Failure, Loading } from '../../kit/states.tsx'
import { StatusBadge } from '../queues/parts/records.tsx'
import { FindField } from './find-field.tsx'
import { findMatches, formOf, type Match, searches } from './searches.ts'

/** Everything that matches a text which a customer, a bank or a log has. */
export default function Find() {
  const [search] = useSearchParams()
  const text = search.get('q')?.trim() ?? ''
  return (
    <Page title={t('find.title')}>
      <FindField label={t('find.label')} text={text} />
      <p className="hint">{t('find.hint')}</p>
      {text !== '' && <Matches key={text} text={text} />}
    </Page>
  )
}

function Matches({ text }: { text: string }) {
  const { permissions } = useSession()
  const form = formOf(text)
  const fitting = searches.filter(({ takes }) => takes(form))
  const relevant = fitting.filter(({ permission }) => permissions.has(permission))
  const omitted = fitting.filter(({ permission }) => !permissions.has(permission))
  const results = useQueries({
    queries: relevant.map((search) => ({
      queryKey: ['find', search.group, text],
      queryFn: () => findMatches(search, text),
    })),
  })
  const groups = relevant.flatMap(({ group }, at) => (results[at] ? [{ group, result: results[at] }] : []))
  const isPending = results.some((result) => result.isPending)
  const isEmpty = results.every(({ data }) => data?.length === 0)
  return (
    <>
      {groups.map(({ group, result }) => (
        <Group key={group} group={group} matches={result.data ?? []} error={result.error} />
      ))}
      {form === 'id' && permissions.has('gateway:observe') && (
        <p>
          <Link href={`/requests?${new URLSearchParams({ requestId: text })}`}>{t('find.requests')}</Link>
        </p>
      )}
      {isPending && <Loading />}
      {isEmpty && <Empty title={t('find.nothing', { text })} />}
      {omitted.length > 0 && (
        <p className="hint">
          {t('find.omitted', {
            groups: omitted.map(({ group, permission }) => `${t(group)} (${permissionName(permission)})`).join(', '),
          })}
        </p>
      )}
    </>
  )
}

function Group({ group, matches, error }: { group: string; matches: readonly Match[]; error: unknown }) {
  if (error === null && matches.length === 0) return null
  return (
    <Section title={t(group)}>
      {error !== null && <Failure error={error} />}
      {matches.length > 0 && (
        <Table
          label={t(group)}
          items={matches}
          keyOf={({ id }) => id}
          columns={[
            { title: t('find.match'), cell: ({ path, title }) => <Link href={path}>{title}</Link> },
            { title: t('find.detail'), cell: ({ detail }) => detail },
            { title: t('find.status'), cell: ({ status }) => <StatusBadge status={status} /> },
          ]}
        />
      )}
    </Section>
  )
}
