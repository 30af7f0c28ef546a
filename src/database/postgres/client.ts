import { Client } from 'pg'

/**
 * If `connect` fails, the `pg` pool discards the client but leaves its socket open. A server that waits for a password
 * closes it only after a minute, and could run out of connections.
 */
export class PipeliningClient extends Client {
  #isBatching = false

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
