import { setImmediate as nextTurn } from 'node:timers/promises'
import type { AccountId, Instant, WorkspaceId } from '../../kernel/index.ts'
import type { ExportType } from './contract.ts'

/** LOGIN_HISTORY belongs to an account, every other list to a workspace. */
export interface ExportScope {
  type: ExportType
  workspace: WorkspaceId
  account: AccountId
  filters: unknown
}

/** Amounts are decimal strings, and instants are ISO 8601. */
export type Row = Readonly<Record<string, string | number | null>>

/** A column without a kind contains text or integers. */
export type ColumnKind = 'decimal' | 'instant'

export interface Source {
  columns: readonly string[]
  kinds?: Readonly<Record<string, ColumnKind>>
  rows: AsyncIterable<Row>
}

/** Oldest first. Rows of the same instant must have a fixed order. */
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
 * Each page starts at the last instant of the previous page and skips the rows already read. Page numbers are used only
 * if one instant has more rows than a page.
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

/** Formatting this many rows takes about a millisecond, in which no request is served. */
const rowsPerTurn = 50

/** Lets the event loop handle other work between groups of rows. */
export async function* takeTurns<T>(rows: AsyncIterable<T>): AsyncGenerator<T> {
  let count = 0
  for await (const row of rows) {
    yield row
    count += 1
    if (count % rowsPerTurn === 0) await nextTurn()
  }
}
