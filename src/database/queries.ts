import {
  AliasNode,
  type Expression,
  ExpressionWrapper,
  IdentifierNode,
  type KyselyPlugin,
  type PluginTransformQueryArgs,
  type PluginTransformResultArgs,
  type QueryResult,
  type RawBuilder,
  RawNode,
  type RootOperationNode,
  SelectionNode,
  type SelectQueryBuilder,
  SelectQueryNode,
  type SqlBool,
  sql,
  type UnknownRow,
} from 'kysely'
import {
  invalid,
  offsetOf,
  type Page,
  type PageRequest,
  startCursor,
  type Total,
  toCursorPage,
  toPage,
} from '../kernel/index.ts'

/** A query to which a condition, a limit and an offset can be added. It sorts by a column and then by the id. */
export interface OrderedQuery<Row> {
  limit(rows: number): { offset(rows: number): { execute(): Promise<Row[]> } }
  where(condition: RawBuilder<SqlBool>): OrderedQuery<Row>
  toOperationNode(): RootOperationNode
}

/**
 * A prepared list query can get a generic plan, which suits only a workspace of average size and cannot use partial
 * indexes. In a large workspace, it read half a million rows for a page of twenty.
 */
export function isListQuery(text: string): boolean {
  return text.includes(' offset $') || text.startsWith('select count(*) as "total"') || text.startsWith('explain ')
}

interface KeyQuery<Keys> {
  limit(rows: number): { offset(rows: number): Keys }
  where(condition: RawBuilder<SqlBool>): KeyQuery<Keys>
  toOperationNode(): RootOperationNode
}

/**
 * Reads a page in two steps: first the keys, for which PostgreSQL needs only an index, and then the rows of the page.
 * Without it, the database would also read the rows of all earlier pages.
 */
export function readByKeys<Keys, Row>(
  keys: KeyQuery<Keys>,
  rowsOf: (page: Keys) => { execute(): Promise<Row[]> },
): OrderedQuery<Row> {
  return {
    limit: (limit) => ({ offset: (offset) => rowsOf(keys.limit(limit).offset(offset)) }),
    where: (condition) => readByKeys(keys.where(condition), rowsOf),
    toOperationNode: () => keys.toOperationNode(),
  }
}

/** Totals up to this number are exact. */
export const maxExactTotal = 10_000

const total = SelectionNode.create(AliasNode.create(RawNode.createWithSql('count(*)'), IdentifierNode.create('total')))

/** Turns a query into one that counts its rows. */
class CountRows implements KyselyPlugin {
  transformQuery({ node }: PluginTransformQueryArgs): SelectQueryNode {
    const rows = AliasNode.create(node, IdentifierNode.create('counted'))
    return SelectQueryNode.cloneWithSelections(SelectQueryNode.createFrom([rows]), [total])
  }

  async transformResult({ result }: PluginTransformResultArgs): Promise<QueryResult<UnknownRow>> {
    return result
  }
}
const countRows = new CountRows()

/**
 * Returns the total of disjoint queries. `rows` is the number of rows on the requested page: a partial page is the last
 * one, so its total needs no count. A deep page counts one record beyond its end, so that `hasNext` is correct.
 */
export async function readTotal<Tables, From extends keyof Tables>(
  queries: readonly SelectQueryBuilder<Tables, From, object>[],
  rows: number,
  request: PageRequest,
): Promise<Total> {
  const before = offsetOf(request)
  if (rows < request.pageSize && (rows > 0 || before === 0)) return { records: before + rows, isEstimated: false }
  const limit = Math.max(maxExactTotal, before + rows) + 1
  const sum: Total = { records: 0, isEstimated: false }
  for (const found of queries) {
    const { records, isEstimated } = await countUpTo(found, limit)
    sum.records += records
    sum.isEstimated ||= isEstimated
  }
  return sum
}

/**
 * Reads the requested page from `ordered`, and counts the rows of `found`. For a request with a cursor, the first column
 * of the order must be a timestamp and the second one a UUID.
 */
export async function readPage<Tables, From extends keyof Tables, Row>(
  found: SelectQueryBuilder<Tables, From, object>,
  ordered: OrderedQuery<Row>,
  request: PageRequest,
): Promise<Page<Row>> {
  if (request.before !== undefined) return readBehind(found, ordered, request, request.before)
  const items = await ordered.limit(request.pageSize).offset(offsetOf(request)).execute()
  return toPage(items, await readTotal([found], items.length, request), request)
}

interface SortColumns {
  /** A timestamp that never changes. */
  time: Expression<unknown>
  id: Expression<unknown>
  sortOrder: 'asc' | 'desc'
}

/** Selects the cursor of a row. It has the database's resolution, microseconds, which an Instant does not have. */
export function cursorOf({ time, id }: Pick<SortColumns, 'time' | 'id'>): RawBuilder<string> {
  return sql<string>`(extract(epoch FROM ${time}) * 1000000)::bigint || '_' || ${id}`
}

/** Whether the row follows the cursor. Throws VALIDATION.INVALID_PARAMETER for a cursor of a list with other ids. */
export function isBehind(cursor: string, { time, id, sortOrder }: SortColumns): RawBuilder<SqlBool> {
  if (cursor === startCursor) return sql<SqlBool>`true`
  const [micros = '', last = ''] = cursor.split('_')
  if (!last.includes('-')) throw invalid('before', 'the cursor of another list')
  const operator = sql.raw(sortOrder === 'asc' ? '>' : '<')
  return sql<SqlBool>`(${time}, ${id}) ${operator}
    ('epoch'::timestamptz + ${micros}::bigint * interval '1 microsecond', ${last}::uuid)`
}

/** Reads the keys of the page, then its rows. Rows that another transaction inserts between the two are not in it. */
async function readBehind<Tables, From extends keyof Tables, Row>(
  found: SelectQueryBuilder<Tables, From, object>,
  ordered: OrderedQuery<Row>,
  request: PageRequest,
  before: string,
): Promise<Page<Row>> {
  const { pageSize } = request
  const columns = sortColumnsOf(ordered)
  const { sortOrder } = columns
  const keys = await found
    .where(isBehind(before, columns))
    .select([sql<string>`${columns.id}`.as('id'), cursorOf(columns).as('cursor')])
    .orderBy(columns.time, sortOrder)
    .orderBy(columns.id, sortOrder)
    .limit(pageSize + 1)
    .offset(0)
    .$castTo<{ id: string; cursor: string }>()
    .execute()
  const page = keys.slice(0, pageSize)
  const isOnPage = sql<SqlBool>`${columns.id} = ANY (${page.map(({ id }) => id)}::uuid[])`
  const items = page.length === 0 ? [] : await ordered.where(isOnPage).limit(pageSize).offset(0).execute()
  return toCursorPage(items, keys.length > pageSize ? (page.at(-1)?.cursor ?? null) : null, request)
}

function sortColumnsOf(ordered: OrderedQuery<unknown>): SortColumns {
  const node = ordered.toOperationNode()
  const [time, id, ...others] = (SelectQueryNode.is(node) && node.orderBy?.items) || []
  if (!time || !id || others.length > 0) throw new TypeError('a list sorts by a time and an id')
  const isDescending = time.direction && RawNode.is(time.direction) && time.direction.sqlFragments[0] === 'desc'
  return {
    time: new ExpressionWrapper(time.orderBy),
    id: new ExpressionWrapper(id.orderBy),
    sortOrder: isDescending ? 'desc' : 'asc',
  }
}

async function countUpTo<Tables, From extends keyof Tables>(
  found: SelectQueryBuilder<Tables, From, object>,
  limit: number,
): Promise<Total> {
  const rows = found.select(sql.lit(1).as('one')).limit(limit).withPlugin(countRows)
  const counted = await rows.$castTo<{ total: number }>().executeTakeFirstOrThrow()
  if (counted.total < limit) return { records: counted.total, isEstimated: false }
  return { records: Math.max(counted.total, await estimateTotal(found)), isEstimated: true }
}

interface Explanation {
  'QUERY PLAN': { Plan: { 'Plan Rows': number } }[]
}

/** Returns the number that the query planner expects, from statistics. Does not run the query. */
async function estimateTotal<Tables, From extends keyof Tables>(
  found: SelectQueryBuilder<Tables, From, object>,
): Promise<number> {
  const [explanation] = await found.select(sql.lit(1).as('one')).explain<Explanation>('json')
  return explanation?.['QUERY PLAN'][0]?.Plan['Plan Rows'] ?? 0
}
