/** Each prepared statement takes about 20 KB of memory in each connection's backend. */
const maxNames = 300

/**
 * Whether a query reads a page of a list or counts it. The best plan depends on the workspace and the page. A cached
 * generic plan is made for the average: one for twenty rows reads half a million rows of a large workspace.
 */
const isListQuery = (text: string): boolean =>
  text.includes(' offset $') || text.startsWith('select count(*) as "total"')

/**
 * Names for prepared statements, so that a connection parses and plans a statement once (PostgreSQL documentation,
 * PREPARE). List queries and statements beyond the maximum get no name and are planned each time.
 */
export class StatementNames {
  readonly #names = new Map<string, string>()

  nameOf(text: string): string | undefined {
    const known = this.#names.get(text)
    if (known !== undefined || this.#names.size >= maxNames || isListQuery(text)) return known
    const name = `portico-${this.#names.size}`
    this.#names.set(text, name)
    return name
  }
}
