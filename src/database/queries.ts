import {
  AliasNode,
  IdentifierNode,
  type KyselyPlugin,
  type PluginTransformQueryArgs,
  type PluginTransformResultArgs,
  type QueryResult,
  RawNode,
  SelectionNode,
  type SelectQueryBuilder,
  SelectQueryNode,
  sql,
  type UnknownRow,
} from 'kysely'
import { offsetOf, type Page, type PageRequest, type Total, toPage } from '../kernel/index.ts'

/** A query to which a limit and an offset can be added. */
export interface OrderedQuery<Row> {
  limit(rows: number): { offset(rows: number): { execute(): Promise<Row[]> } }
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

/** Reads the requested page from `ordered`, and counts the rows of `found`. */
export async function readPage<Tables, From extends keyof Tables, Row>(
  found: SelectQueryBuilder<Tables, From, object>,
  ordered: OrderedQuery<Row>,
  request: PageRequest,
): Promise<Page<Row>> {
  const items = await ordered.limit(request.pageSize).offset(offsetOf(request)).execute()
  return toPage(items, await readTotal([found], items.length, request), request)
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
