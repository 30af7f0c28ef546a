import { type Compilable, type CompiledQuery, type RawBuilder, type SelectQueryBuilder, sql } from 'kysely'
import { offsetOf, type Page, type PageRequest, toPage } from '../kernel/index.ts'
import type { Database, Tx } from './tables.ts'

type Store = Database | Tx

/** Returns a placeholder for a named value that is supplied at each execution. */
export type Param<Values extends object> = <Name extends keyof Values>(name: Name) => RawBuilder<Values[Name]>

/** A statement that is compiled once. */
export interface Statement<Values extends object, Row> {
  all(store: Store, values: Values): Promise<Row[]>
  first(store: Store, values: Values): Promise<Row | undefined>
}

/** A parameter of a compiled statement, without its value. */
class Placeholder<Values> {
  readonly valueIn: (values: Values) => unknown

  constructor(valueIn: (values: Values) => unknown) {
    this.valueIn = valueIn
  }
}

/**
 * A statement that is built and compiled at its first execution. Kysely otherwise takes 15 to 250 µs to build and compile
 * it each time, so use this for statements that most requests run.
 */
export const statement = <Values extends object, Row>(
  build: (store: Store, param: Param<Values>) => Compilable<Row>,
): Statement<Values, Row> => {
  const param: Param<Values> = (name) => sql`${new Placeholder<Values>((values) => values[name])}`
  let compiled: CompiledQuery<Row> | undefined
  const all = async (store: Store, values: Values): Promise<Row[]> => {
    compiled ??= build(store, param).compile()
    const parameters = compiled.parameters.map((each) => (each instanceof Placeholder ? each.valueIn(values) : each))
    const { rows } = await store.executeQuery<Row>({ ...compiled, parameters })
    return rows
  }
  return { all, first: async (store, values) => (await all(store, values))[0] }
}

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
