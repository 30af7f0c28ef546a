import { type Compilable, type CompiledQuery, type RawBuilder, sql } from 'kysely'
import type { Database, Tx } from './tables/index.ts'

type Store = Database | Tx
type Values = Readonly<Record<string, unknown>>

/** A place in a statement for what it will be asked with. */
class Place {
  readonly name: string

  constructor(name: string) {
    this.name = name
  }
}

/** Stands in a statement, by its name, for a value that each asking brings. */
export type Given<V extends Values> = <Name extends keyof V & string>(name: Name) => RawBuilder<V[Name]>

export interface Statement<V extends Values, Row> {
  all(store: Store, values: V): Promise<Row[]>
  first(store: Store, values: V): Promise<Row | undefined>
}

/**
 * A statement that is built and compiled when it is first asked. Kysely takes 50 to 200 µs each time otherwise, as much as
 * all the rest of a look-up, so whatever most requests or each step of a login asks is made by this.
 */
export const statement = <V extends Values, Row>(
  build: (store: Store, given: Given<V>) => Compilable<Row>,
): Statement<V, Row> => {
  let compiled: CompiledQuery<Row> | undefined
  const all = async (store: Store, values: V): Promise<Row[]> => {
    compiled ??= build(store, (name) => sql`${new Place(name)}`).compile()
    const parameters = compiled.parameters.map((each) => (each instanceof Place ? values[each.name] : each))
    const { rows } = await store.executeQuery<Row>({ ...compiled, parameters })
    return rows
  }
  return { all, first: async (store, values) => (await all(store, values))[0] }
}
