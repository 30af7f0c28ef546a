/** What PostgreSQL keeps of a statement takes some 20 KB of each connection's memory. */
const maxNames = 300

/**
 * A page of a list, or how many it has. Which plan is good depends on whose list it is and how far the page lies in it, and one
 * that is kept without parameters is made for the average: a plan for twenty rows reads half a million of a large workspace's.
 */
const isListQuery = (text: string): boolean =>
  text.includes(' offset $') || text.startsWith('select count(*) as "total"')

/**
 * Names that statements go by: what a connection has met before is neither parsed nor planned anew (PostgreSQL's
 * documentation, PREPARE). Statements that come when all names are given away go without; lists of many filters may be
 * spelt in more ways than a server has memory for.
 * Lists are planned anew each time.
 */
export const statementNames = (): ((text: string) => string | undefined) => {
  const names = new Map<string, string>()
  return (text) => {
    const known = names.get(text)
    if (known !== undefined || names.size >= maxNames || isListQuery(text)) return known
    const name = `portico-${names.size}`
    names.set(text, name)
    return name
  }
}
