import { type Compilable, type CompiledQuery, type RawBuilder, sql } from 'kysely'
import type { Database, Tx } from './tables.ts'

type Store = Database | Tx

/** Stands in a statement, by its name, for a value that each asking brings. */
export type Given<Values extends object> = <Name extends keyof Values>(name: Name) => RawBuilder<Values[Name]>

export interface Statement<Values extends object, Row> {
  all(store: Store, values: Values): Promise<Row[]>
  first(store: Store, values: Values): Promise<Row | undefined>
}

/** A parameter of a compiled statement whose value is not known yet. */
class Parameter<Values> {
  readonly valueIn: (values: Values) => unknown

  constructor(valueIn: (values: Values) => unknown) {
    this.valueIn = valueIn
  }
}

/**
 * A statement that is built and compiled when it is first asked. Kysely takes 15 to 250 µs each time otherwise, the more the
 * less often it comes, so whatever most requests or each step of a login asks is made by this.
 */
export const statement = <Values extends object, Row>(
  build: (store: Store, given: Given<Values>) => Compilable<Row>,
): Statement<Values, Row> => {
  const given: Given<Values> = (name) => sql`${new Parameter<Values>((values) => values[name])}`
  let compiled: CompiledQuery<Row> | undefined
  const all = async (store: Store, values: Values): Promise<Row[]> => {
    compiled ??= build(store, given).compile()
    const parameters = compiled.parameters.map((each) => (each instanceof Parameter ? each.valueIn(values) : each))
    const { rows } = await store.executeQuery<Row>({ ...compiled, parameters })
    return rows
  }
  return { all, first: async (store, values) => (await all(store, values))[0] }
}
