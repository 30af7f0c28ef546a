import type { Instant } from '../../../kernel/index.ts'

/** A line of an export, by column. Amounts and instants are text already. */
export type Row = Readonly<Record<string, string | number | null>>

/** A list as it is exported: its columns in their order, and its rows, read a page at a time. */
export interface Source {
  columns: readonly string[]
  rows: AsyncIterable<Row>
}

/** A page from an instant on, the oldest first, instants alike in a fixed order. */
export type ReadPage<T> = (slice: {
  from: Instant | undefined
  currentPage: number
  pageSize: number
}) => Promise<readonly T[]>

interface Placed {
  bizId: string
  createdAt: Instant
}

/**
 * Everything that a list holds, by keyset: each page begins where the last one ended, at its instant, and what was seen
 * of that instant is passed over. Only instants with more rows than a page has are paged through by number.
 */
export async function* everyRow<T extends Placed>(
  readPage: ReadPage<T>,
  start: Instant | undefined,
  pageSize: number,
): AsyncGenerator<T> {
  let from = start
  let currentPage = 1
  let seen: ReadonlySet<string> = new Set()
  for (;;) {
    const rows = await readPage({ from, currentPage, pageSize })
    for (const row of rows) if (!seen.has(row.bizId)) yield row
    const last = rows.at(-1)
    if (!last || rows.length < pageSize) return
    if (last.createdAt === from) {
      currentPage += 1
      continue
    }
    from = last.createdAt
    currentPage = 1
    seen = new Set(rows.filter((row) => row.createdAt === last.createdAt).map((row) => row.bizId))
  }
}
