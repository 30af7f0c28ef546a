import type { SelectQueryBuilder } from 'kysely'
import { offsetOf, type Page, type PageRequest, toPage } from '../kernel/index.ts'

/** A query with its columns and its order, ready to be sliced. */
interface OrderedQuery<Row> {
  limit(rows: number): { offset(rows: number): { execute(): Promise<Row[]> } }
}

/** The query that counts the rows of another query. */
export const countQuery = <Tables, From extends keyof Tables>(found: SelectQueryBuilder<Tables, From, object>) =>
  found.select((rows) => rows.fn.countAll().as('total')).$castTo<{ total: number }>()

/** Reads one page of a list: the total number of rows in `found`, and the requested slice of `ordered`. */
export const readPage = async <Tables, From extends keyof Tables, Row>(
  found: SelectQueryBuilder<Tables, From, object>,
  ordered: OrderedQuery<Row>,
  request: PageRequest,
): Promise<Page<Row>> => {
  const { total } = await countQuery(found).executeTakeFirstOrThrow()
  const items = await ordered.limit(request.pageSize).offset(offsetOf(request)).execute()
  return toPage(items, total, request)
}
