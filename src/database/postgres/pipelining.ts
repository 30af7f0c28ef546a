import {
  type ConnectionProvider,
  type DatabaseConnection,
  type Dialect,
  DummyDriver,
  Kysely,
  type KyselyProps,
  PostgresAdapter,
  PostgresDialect,
  type PostgresDialectConfig,
  PostgresDriver,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryExecutor,
  Transaction,
} from 'kysely'
import { type HoldLimit, LeasingDriver } from '../lease.ts'
import type { Database, Tables, Tx } from '../tables.ts'

/** Marks databases whose connections send a statement without waiting for the result of the previous one. */
export class PipeliningAdapter extends PostgresAdapter {}

/** Its pool must use the pipeline mode of `pg`. */
export class PipeliningDialect extends PostgresDialect {
  readonly #config: PostgresDialectConfig
  readonly #adapter: PipeliningAdapter
  readonly #port: string
  readonly #limit: HoldLimit

  constructor(config: PostgresDialectConfig, adapter: PipeliningAdapter, port: string, limit: HoldLimit) {
    super(config)
    this.#config = config
    this.#adapter = adapter
    this.#port = port
    this.#limit = limit
  }

  override createDriver(): LeasingDriver {
    return new LeasingDriver(new PostgresDriver(this.#config), this.#port, this.#limit)
  }

  override createAdapter(): PipeliningAdapter {
    return this.#adapter
  }
}

export const isPipelining = (store: Database | Tx): boolean => store.getExecutor().adapter instanceof PipeliningAdapter

const dialect: Dialect = {
  createAdapter: () => new PipeliningAdapter(),
  createDriver: () => new DummyDriver(),
  createIntrospector: (database) => new PostgresIntrospector(database),
  createQueryCompiler: () => new PostgresQueryCompiler(),
}

/**
 * Kysely's own provider waits for each statement before it sends the next one. This one is closed before COMMIT is sent
 * or the connection is released.
 */
class ConcurrentProvider implements ConnectionProvider {
  readonly #connection: DatabaseConnection
  #isClosed = false

  constructor(connection: DatabaseConnection) {
    this.#connection = connection
  }

  async provideConnection<T>(consume: (connection: DatabaseConnection) => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new Error('the statement started after the end of its transaction')
    return consume(this.#connection)
  }

  close(): void {
    this.#isClosed = true
  }
}

const runOn = <T>(executor: QueryExecutor, work: (props: KyselyProps) => Promise<T>): Promise<T> =>
  executor.provideConnection(async (connection) => {
    const provider = new ConcurrentProvider(connection)
    try {
      const concurrent = executor.withConnectionProvider(provider)
      return await work({ config: { dialect }, dialect, driver: new DummyDriver(), executor: concurrent })
    } finally {
      provider.close()
    }
  })

/** Passes `work` one connection that sends concurrent statements in order, in one round trip. */
export const withPipeline = <T>(database: Database, work: (pipeline: Database) => Promise<T>): Promise<T> =>
  runOn(database.getExecutor(), (props) => work(new Kysely<Tables>(props)))

/** Passes `work` the same transaction, which sends concurrent statements in order, in one round trip. */
export const withPipelinedTransaction = <T>(tx: Tx, work: (pipeline: Tx) => Promise<T>): Promise<T> =>
  runOn(tx.getExecutor(), (props) => work(new Transaction<Tables>(props)))
