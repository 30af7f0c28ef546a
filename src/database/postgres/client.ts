import { type LookupFunction, Socket } from 'node:net'
import { Client, type ClientConfig, type FieldDef } from 'pg'
import { renameFields } from '../column-names.ts'

/** `pg` passes no resolver to its sockets. */
export class ResolvingSocket extends Socket {
  readonly #lookup: LookupFunction | undefined

  constructor(lookup: LookupFunction | undefined) {
    super()
    this.#lookup = lookup
  }

  /** `pg` connects to a port and a host, or to the path of a Unix socket. */
  override connect(target: unknown, host?: unknown): this {
    if (typeof target === 'string') return super.connect(target)
    return super.connect({ port: Number(target), host: String(host), lookup: this.#lookup })
  }
}

/**
 * If `connect` fails, the `pg` pool discards the client but leaves its socket open. A server that waits for a password
 * closes it only after a minute, and could run out of connections.
 */
export class PipeliningClient extends Client {
  #isBatching = false

  constructor(config?: string | ClientConfig) {
    super(config)
    // Listens before `pg` does.
    this.connection.on('rowDescription', ({ fields }: { fields: FieldDef[] }) => renameFields(fields))
  }

  override connect(): Promise<Client>
  override connect(callback: (error: Error | null) => void): void
  override connect(callback?: (error: Error | null) => void): Promise<Client> | undefined {
    if (!callback) return super.connect()
    super.connect((error: Error | null) => {
      if (error) void this.end()
      callback(error)
    })
    return undefined
  }

  /**
   * Sends the statements that start now in one write. Otherwise, the server could respond to the first one before it
   * gets the others. The second tick includes COMMIT, which starts after the first one.
   */
  batch(): void {
    if (this.#isBatching) return
    this.#isBatching = true
    const { stream } = this.connection
    stream.cork()
    process.nextTick(() =>
      process.nextTick(() => {
        this.#isBatching = false
        stream.uncork()
      }),
    )
  }
}
