import { stderr } from 'node:process'
import { inspect } from 'node:util'
import type { Domain } from '../api/domain.ts'
import { declaresRefusal } from '../contract/policies.ts'
import type { Migration } from '../database/index.ts'
import {
  type AnyHandler,
  type Code,
  createHandlerTable,
  isRecord,
  keepCallSite,
  type Operation,
  Refusal,
} from '../kernel/index.ts'
import { listTables } from './store.ts'

export class WatchedHandlers {
  readonly #changes = new Map<string, (handler: () => Promise<unknown>) => Promise<unknown>>()
  readonly #replies = new Map<string, unknown>()
  readonly #refusals = new Map<string, Set<Code>>()
  readonly #tables = new Map<string, string[]>()

  watch(domain: Domain): Domain {
    const { name, migrations } = domain
    return keepCallSite(domain, {
      ...domain,
      ...(migrations && { migrations: migrations.map((migration) => this.#watchMigration(name, migration)) }),
      create: async (ports) => {
        const parts = await domain.create(ports)
        const table =
          parts.handlers instanceof Map
            ? parts.handlers
            : createHandlerTable(domain.contract ?? domain.operations, parts.handlers)
        const watched = [...table].map(([id, handler]): [string, AnyHandler] => [id, this.#watchHandler(id, handler)])
        return { ...parts, handlers: new Map(watched) }
      },
    })
  }

  /**
   * Watches domains that start creates. Changes the domains themselves, but only until it settles: a copy of one of
   * Portico's own domains would count as an extension.
   */
  async watchWhile<T>(domains: readonly Domain[], start: () => Promise<T>): Promise<T> {
    const originals = domains.map((domain) => ({ domain, create: domain.create }))
    for (const { domain, create } of originals) domain.create = this.watch({ ...domain, create }).create
    try {
      return await start()
    } finally {
      for (const { domain, create } of originals) domain.create = create
    }
  }

  /** The tables that the migrations of a domain created. */
  tablesOf(domain: string): readonly string[] {
    return this.#tables.get(domain) ?? []
  }

  undeclaredRefusals(operation: Operation): Code[] {
    return [...(this.#refusals.get(operation.id) ?? [])].filter((code) => !declaresRefusal(operation, code))
  }

  #watchMigration(domain: string, migration: Migration): Migration {
    return {
      ...migration,
      up: async (tx) => {
        const before = await listTables(tx)
        await migration.up(tx)
        const created = (await listTables(tx)).filter((table) => !before.includes(table))
        this.#tables.set(domain, [...this.tablesOf(domain), ...created])
      },
    }
  }

  #watchHandler(id: string, handler: AnyHandler): AnyHandler {
    return async (request) => {
      const run = async () => {
        try {
          const reply = await handler(request)
          this.#replies.set(id, reply)
          return reply
        } catch (error) {
          if (error instanceof Refusal) this.#refusals.set(id, (this.#refusals.get(id) ?? new Set()).add(error.code))
          else stderr.write(`the handler of ${id} failed: ${inspect(error)}\n`)
          throw error
        }
      }
      const change = this.#changes.get(id)
      return change ? change(run) : run()
    }
  }

  /** The handler does not run. */
  async withReply<T>(id: string, reply: unknown, work: () => Promise<T>): Promise<T> {
    return this.#withChange(id, async () => reply, work)
  }

  /** Adds a field to a reply that is an object. `replies` contains the handler's own reply, if any. */
  async withField<T>(id: string, field: object, work: () => Promise<T>): Promise<{ result: T; replies: unknown[] }> {
    this.#replies.delete(id)
    const addField = async (run: () => Promise<unknown>) => {
      const reply = await run()
      return isRecord(reply) ? { ...reply, ...field } : reply
    }
    const result = await this.#withChange(id, addField, work)
    return { result, replies: this.#replies.has(id) ? [this.#replies.get(id)] : [] }
  }

  async #withChange<T>(
    id: string,
    change: (handler: () => Promise<unknown>) => Promise<unknown>,
    work: () => Promise<T>,
  ): Promise<T> {
    this.#changes.set(id, change)
    try {
      return await work()
    } finally {
      this.#changes.delete(id)
    }
  }
}
