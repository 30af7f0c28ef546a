import { useInfiniteQuery } from '@tanstack/react-query'
import { listRequests, type RequestEntry } from 'portal-client'
import { useState } from 'react'
import { Link } from 'wouter'
import { client } from '../../kit/client.ts'
import { formatInstant, formatMs } from '../../kit/format.ts'
import { t } from '../../kit/i18n.ts'
import { Table } from '../../kit/list.tsx'
import { Page } from '../../kit/page.tsx'
import { Empty, Failure, QueryView } from '../../kit/states.tsx'
import { Filters } from '../records/filters.tsx'
import { filters, useRequestFilter } from './filters.tsx'
import { MissingReplicas } from './missing.tsx'
import { Outcome } from './outcome.tsx'

const refreshMs = 2_000
const pageSize = 100

/** The latest decisions of all gateways. A hidden page does not refresh. */
export default function Requests() {
  const [isPaused, setPaused] = useState(false)
  const { query: filter, showsOwn } = useRequestFilter()
  const query = useInfiniteQuery({
    queryKey: ['requests', filter],
    queryFn: ({ pageParam }) => client.call(listRequests, { query: { ...filter, pageSize, before: pageParam } }),
    initialPageParam: 'start',
    getNextPageParam: ({ nextCursor }) => nextCursor ?? null,
    refetchInterval: isPaused ? false : refreshMs,
  })
  // New requests would move the older ones away from the reader.
  const readOlder = (): void => {
    setPaused(true)
    void query.fetchNextPage()
  }
  const pause = (
    <button type="button" aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
      {t('requests.pause')}
    </button>
  )
  return (
    <Page title={t('requests.title')} actions={pause}>
      <Filters label={t('requests.filters')} filters={filters} />
      {isPaused && <p role="status">{t('requests.paused')}</p>}
      <QueryView query={query}>
        {({ pages }) => (
          <>
            {query.error !== null && <Failure error={query.error} onRetry={() => void query.refetch()} />}
            <MissingReplicas missing={pages[0]?.missing ?? []} />
            <List requests={pages.flatMap(({ items }) => items).filter((each) => showsOwn || !isOwn(each))} />
            {query.hasNextPage && (
              <button type="button" disabled={query.isFetchingNextPage} onClick={readOlder}>
                {t('requests.older')}
              </button>
            )}
          </>
        )}
      </QueryView>
    </Page>
  )
}

function List({ requests }: { requests: readonly RequestEntry[] }) {
  if (requests.length === 0) {
    return (
      <Empty title={t('requests.empty')}>
        <p>{t('requests.emptyHint')}</p>
      </Empty>
    )
  }
  return (
    <Table
      label={t('requests.title')}
      items={requests}
      keyOf={({ replica, requestId, at }) => `${replica} ${requestId} ${at}`}
      columns={[
        {
          title: t('requests.operation'),
          cell: ({ requestId, operation }) => (
            <Link href={`/requests/decisions?${new URLSearchParams({ requestId })}`}>
              {operation ?? t('requests.noOperation')}
            </Link>
          ),
        },
        {
          title: t('requests.at'),
          cell: ({ at }) => (
            <time className="requests-at" dateTime={at}>
              {formatInstant(at)}
            </time>
          ),
        },
        { title: t('requests.outcome'), cell: ({ outcome }) => <Outcome outcome={outcome} /> },
        { title: t('requests.status'), cell: ({ status, code }) => <Code status={status} code={code} /> },
        { title: t('requests.replica'), cell: ({ replica }) => replica },
        { title: t('requests.duration'), align: 'end', cell: ({ ms }) => formatMs(ms) },
      ]}
    />
  )
}

function Code({ status, code }: Pick<RequestEntry, 'status' | 'code'>) {
  return (
    <span>
      {status} {code !== null && <code>{code}</code>}
    </span>
  )
}

/** What this application asks again and again, which would fill the list. */
function isOwn({ operation }: RequestEntry): boolean {
  return operation?.startsWith('observations.') ?? false
}
