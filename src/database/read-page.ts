import type { SelectQueryBuilder } from 'kysely'
import { offsetOf, type Page, type PageRequest, toPage } from '../kernel/index.ts'

/** A statement in the order of its list, of which a slice can be read. */
interface Ordered<Row> {
  limit(rows: number): { offset(rows: number): { execute(): Promise<Row[]> } }
}

/** The statement that counts what another one finds. */
export const counting = <Tables, From extends keyof Tables>(found: SelectQueryBuilder<Tables, From, object>) =>
  found.select((rows) => rows.fn.countAll().as('total')).$castTo<{ total: number }>()

/** One page of a list: how many are found in all, and the slice that is asked for. */
export const readPage = async <Tables, From extends keyof Tables, Row>(
  found: SelectQueryBuilder<Tables, From, object>,
  ordered: Ordered<Row>,
  request: PageRequest,
): Promise<Page<Row>> => {
  const { total } = await counting(found).executeTakeFirstOrThrow()
  const items = await ordered.limit(request.pageSize).offset(offsetOf(request)).execute()
  return toPage(items, total, request)
}
