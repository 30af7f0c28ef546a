/** What PostgreSQL keeps of a statement takes some 20 KB of each connection's memory. */
const most = 300

/**
 * Names that statements go by: what a connection has met before is neither parsed nor planned anew (PostgreSQL's
 * documentation, PREPARE). Statements that come when all names are given away go without; lists of many filters may be
 * spelt in more ways than a server has memory for.
 */
export const statementNames = (): ((text: string) => string | undefined) => {
  const names = new Map<string, string>()
  return (text) => {
    const known = names.get(text)
    if (known !== undefined || names.size >= most) return known
    const name = `portico-${names.size}`
    names.set(text, name)
    return name
  }
}
