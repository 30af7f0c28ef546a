import { useInfiniteQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useSearch } from 'wouter'
import { useAttendance } from './attendance.ts'
import { t } from './i18n.ts'
import { Empty, QueryView } from './states.tsx'

const refreshMs = 2_000

/** The title of an empty list: whether nothing matches the filters in the URL, or nothing is there. */
export function useEmpty(filtered: string): string {
  return useSearch() === '' ? t('kit.nothingYet') : filtered
}

interface Page<Item> {
  items: readonly Item[]
  nextCursor?: string | null | undefined
}

interface ListQueryProps<Item> {
  /** Identifies the list and its filters, such as `['transfers', status]`. */
  queryKey: readonly unknown[]
  /** Reads one page. `before` is `start`, or the cursor of the page before. */
  read(before: string): Promise<Page<Item>>
  /** The title of an empty list. */
  empty: string
  /** Whether the list changes without the user. It is then read again every few seconds, while somebody uses the page. */
  isChanging?: (items: readonly Item[]) => boolean
  children(items: readonly Item[]): ReactNode
}

/** A list that is read page by page, by cursor. */
export function ListQuery<Item>({ queryKey, read, empty, isChanging, children }: ListQueryProps<Item>) {
  const isAttended = useAttendance()
  const query = useInfiniteQuery({
    // Pages in the cache are of no use to a query with the same key that reads one page.
    queryKey: ['list', ...queryKey],
    queryFn: ({ pageParam }) => read(pageParam),
    initialPageParam: 'start',
    getNextPageParam: ({ nextCursor }) => nextCursor ?? null,
    refetchInterval: ({ state }) =>
      isAttended && state.data && isChanging?.(state.data.pages.flatMap(({ items }) => items)) ? refreshMs : false,
  })
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = query
  return (
    <QueryView query={query}>
      {({ pages }) => {
        const items = pages.flatMap((page) => page.items)
        if (items.length === 0) return <Empty title={empty} />
        return (
          <>
            {children(items)}
            {hasNextPage && (
              <button type="button" disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
                {t(isFetchingNextPage ? 'kit.loading' : 'kit.more')}
              </button>
            )}
          </>
        )
      }}
    </QueryView>
  )
}

export interface Column<Item> {
  title: string
  /** `end` for amounts and counts. */
  align?: 'end'
  cell(item: Item): ReactNode
}

interface TableProps<Item> {
  /** Names the table for screen readers. */
  label: string
  items: readonly Item[]
  columns: readonly Column<NoInfer<Item>>[]
  keyOf(item: Item): string
}

/** The first column is the header of its row. On narrow screens, each row becomes a card. */
export function Table<Item>({ label, items, columns, keyOf }: TableProps<Item>) {
  return (
    <div className="table-frame">
      <table aria-label={label}>
        <thead>
          <tr>
            {columns.map(({ title, align }) => (
              <th key={title} scope="col" className={align}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {items.map((item) => (
            <tr key={keyOf(item)}>
              {columns.map(({ title, align, cell }, at) =>
                at === 0 ? (
                  <th key={title} scope="row" className={align} data-title={title}>
                    {cell(item)}
                  </th>
                ) : (
                  <td key={title} className={align} data-title={title}>
                    {cell(item)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
