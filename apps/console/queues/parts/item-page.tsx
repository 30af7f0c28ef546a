import { type QueryKey, useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { t } from '../../../kit/i18n.ts'
import { Page } from '../../../kit/page.tsx'
import { Empty, QueryView } from '../../../kit/states.tsx'
import { WorkspaceZone } from '../../records/workspace-zone.tsx'

interface OfWorkspace {
  workspaceBizId: string | null
}

interface ItemPageProps<Item extends OfWorkspace> {
  queryKey: QueryKey
  /** Null if it does not exist. */
  read(): Promise<Item | null>
  titleOf(item: Item): string
  /** The list, such as `/queues/transfers`, and the key of its title. */
  list: { path: string; title: string }
  nextOf(item: Item): ReactNode
  children(item: Item): ReactNode
}

/** One item of a queue. Its times are those of its workspace. */
export function ItemPage<Item extends OfWorkspace>({
  queryKey,
  read,
  titleOf,
  list,
  nextOf,
  children,
}: ItemPageProps<Item>) {
  const query = useQuery({ queryKey, queryFn: read })
  const item = query.data
  return (
    <Page
      title={item ? titleOf(item) : t(list.title)}
      actions={
        <>
          <Link href={list.path} className="button">
            {t(list.title)}
          </Link>
          {item && nextOf(item)}
        </>
      }
    >
      <QueryView query={query}>
        {(found) =>
          found === null ? (
            <Empty title={t('queues.missing')} />
          ) : (
            <WorkspaceZone id={found.workspaceBizId}>{children(found)}</WorkspaceZone>
          )
        }
      </QueryView>
    </Page>
  )
}

interface NextQuery {
  sortOrder: 'asc'
  pageSize: number
  startTime?: string
}

interface NextItemProps {
  id: string
  createdAt: string
  /** Reads waiting items, the oldest first. */
  read(query: NextQuery): Promise<readonly { bizId: string; path: string }[]>
}

/** Leads to the next waiting item: the one after this item, or the oldest one. */
export function NextItem({ id, createdAt, read }: NextItemProps) {
  const { data } = useQuery({
    queryKey: ['next', id],
    queryFn: async () => {
      const later = await read({ sortOrder: 'asc', pageSize: 20, startTime: createdAt })
      const following = later[later.findIndex(({ bizId }) => bizId === id) + 1]
      if (following) return following
      return (await read({ sortOrder: 'asc', pageSize: 2 })).find(({ bizId }) => bizId !== id) ?? null
    },
  })
  if (data === undefined) return null
  if (data === null) return <span className="hint queues-no-next">{t('queues.noNext')}</span>
  return (
    <Link href={data.path} className="button">
      {t('queues.next')}
    </Link>
  )
}
