import type { AccountId, Instant, WorkspaceId } from '../../kernel/index.ts'
import type { ExportType } from './contract.ts'

/** The list that an export contains. It belongs to a workspace or, for LOGIN_HISTORY, to an account. */
export interface ExportScope {
  type: ExportType
  workspace: WorkspaceId
  account: AccountId
  filters: unknown
}

/** A row of an export by column, with formatted amounts and instants. */
export type Row = Readonly<Record<string, string | number | null>>

/** A list to export: its columns in order, and its rows, which are read page by page. */
export interface Source {
  columns: readonly string[]
  rows: AsyncIterable<Row>
}

/** Reads a page that starts at an instant, oldest first. Rows of the same instant have a fixed order. */
export type ReadPage<T> = (slice: {
  from: Instant | undefined
  currentPage: number
  pageSize: number
}) => Promise<readonly T[]>

interface KeysetRow {
  bizId: string
  createdAt: Instant
}

/**
 * Reads all rows of a list by keyset pagination. Each page starts at the last instant of the previous page and skips
 * the rows that were already read. Page numbers are used only if one instant has more rows than a page.
 */
export async function* readAllRows<T extends KeysetRow>(
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
