import {
  type Compilable,
  type CompiledQuery,
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  type QueryResult,
  type RawBuilder,
  sql,
} from 'kysely'
import { ColumnCompiler } from './column-names.ts'
import type { Database, Tables, Tx } from './tables.ts'

type Send = <Row>(query: CompiledQuery<Row>) => Promise<QueryResult<Row>>

/** One or more statements that have not started. Pass them to `run` or `batch`. */
export class Statements<Result> {
  /** For this folder only. Sends all statements in the same tick, and reads their rows. */
  readonly send: (send: Send) => Promise<Result>

  constructor(send: (send: Send) => Promise<Result>) {
    this.send = send
  }

  /** The same statements with another result. */
  map<Other>(toOther: (result: Result) => Other): Statements<Other> {
    return new Statements(async (send) => toOther(await this.send(send)))
  }
}

/** One statement. Its rows are the result. */
class Query<Row> extends Statements<Row[]> {
  constructor(compiled: CompiledQuery<Row>) {
    super(async (send) => (await send(compiled)).rows)
  }

  first(): Statements<Row | undefined> {
    return this.map(([row]) => row)
  }

  /** Throws if it returns no row. */
  only(): Statements<Row> {
    return this.map(([row]) => {
      if (row === undefined) throw new Error('the statement returned no row')
      return row
    })
  }

  /** Whether it returns a row. */
  hasRow(): Statements<boolean> {
    return this.map((rows) => rows.length > 0)
  }
}

export type Results<All extends readonly Statements<unknown>[]> = {
  -readonly [Index in keyof All]: All[Index] extends Statements<infer Result> ? Result : never
}

/** Builds statements without a connection. */
const builder = new Kysely<Tables>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (database) => new PostgresIntrospector(database),
    createQueryCompiler: () => new ColumnCompiler(),
  },
})

/** A statement with Kysely's builder. */
export function query<Row>(build: (store: Database) => Compilable<Row>): Query<Row> {
  return new Query(build(builder).compile())
}

/** A statement in SQL. */
export function rawQuery<Row>(text: RawBuilder<Row>): Query<Row> {
  return new Query(text.compile(builder))
}

/** Several statements as one value, in order. */
export function together<const All extends readonly Statements<unknown>[]>(all: All): Statements<Results<All>> {
  return new Statements(async (send) => {
    const sent = all.map((each) => each.send(send))
    await Promise.allSettled(sent)
    // `map` loses the type of a tuple.
    return (await Promise.all(sent)) as Results<All>
  })
}

/** Each execution of the statement supplies the value. */
export type Param<Values extends object> = <Name extends keyof Values>(name: Name) => RawBuilder<Values[Name]>

export interface Statement<Values extends object, Row> {
  with(values: Values): Query<Row>
  all(store: Database | Tx, values: Values): Promise<Row[]>
  first(store: Database | Tx, values: Values): Promise<Row | undefined>
}

class Placeholder<Values> {
  readonly valueIn: (values: Values) => unknown

  constructor(valueIn: (values: Values) => unknown) {
    this.valueIn = valueIn
  }
}

/**
 * Compiles at the first execution. Use it for statements of most requests: building and compiling a statement with
 * Kysely takes 15 to 250 µs.
 */
export function statement<Values extends object, Row>(
  build: (store: Database, param: Param<Values>) => Compilable<Row>,
): Statement<Values, Row> {
  const param: Param<Values> = (name) => sql`${new Placeholder<Values>((values) => values[name])}`
  let compiled: CompiledQuery<Row> | undefined
  const withValues = (values: Values): Query<Row> => {
    compiled ??= build(builder, param).compile()
    const parameters = compiled.parameters.map((each) => (each instanceof Placeholder ? each.valueIn(values) : each))
    return new Query({ ...compiled, parameters })
  }
  const all = (store: Database | Tx, values: Values): Promise<Row[]> => run(store, withValues(values))
  return { with: withValues, all, first: async (store, values) => (await all(store, values))[0] }
}

/** Sends the statements in one round trip. */
export function run<Result>(store: Database | Tx, statements: Statements<Result>): Promise<Result> {
  return store
    .getExecutor()
    .provideConnection((connection) => statements.send((compiled) => connection.executeQuery(compiled)))
}

/**
 * Sends the statements in order, in one round trip, and returns their results. Rejects with the error of the first one
 * that failed. In a transaction, nothing takes effect then; on a database, each statement is its own transaction.
 */
export function batch<const All extends readonly Statements<unknown>[]>(
  store: Database | Tx,
  all: All,
): Promise<Results<All>> {
  return run(store, together(all))
}
