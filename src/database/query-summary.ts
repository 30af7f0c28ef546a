interface QuerySummary {
  /** Such as `SELECT`. Of a WITH statement, its first write, or `SELECT`. */
  operation: string
  /** The operations and tables, such as `UPDATE wallets INSERT flows`. Contains no values. */
  text: string
}

/** These can contain anything, also words of SQL. */
const opaque = /'(?:[^']|'')*'|--[^\n]*|\/\*[\s\S]*?\*\//g

/** `FROM` also separates the arguments of these. */
const otherFrom = /\b(?:extract|substring|trim|overlay)\s*\([^()]*\)|\bdistinct\s+from\b/gi

/** Without `FOR UPDATE`, `FOR NO KEY UPDATE` and `DO UPDATE`. */
const write = /(?<!\b(?:for|key|do)\s+)\b(insert|update|delete|merge)\s+(?:into\s+|from\s+)?(?:only\s+)?"?([a-z_]\w*)/gi

const read = /\bfrom\s+(?:only\s+)?"?([a-z_]\w*)/i

/** A statement of the ledger writes to about ten tables. */
const maxWrites = 12

/** The operations and tables of a statement, as in the semantic conventions of OpenTelemetry (`db.query.summary`). */
export function summarizeQuery(text: string): QuerySummary {
  const visible = text.replace(opaque, ' ').replace(otherFrom, ' ')
  const keyword = /[a-z]+/i.exec(visible)?.[0].toUpperCase() ?? ''
  const writes = [...visible.matchAll(write)].map(([, verb = '', table = '']) => `${verb.toUpperCase()} ${table}`)
  const [first] = writes
  if (first !== undefined) {
    const operation = keyword === 'WITH' ? (first.split(' ')[0] ?? keyword) : keyword
    return { operation, text: [...new Set(writes)].slice(0, maxWrites).join(' ') }
  }
  const operation = keyword === 'WITH' ? 'SELECT' : keyword
  const outer = keyword === 'SELECT' ? read.exec(withoutSubqueries(visible)) : null
  const table = operation === 'SELECT' ? (outer ?? read.exec(visible))?.[1] : undefined
  return { operation, text: table === undefined ? operation : `${operation} ${table}` }
}

/** A subquery among the columns precedes the table of the statement. */
function withoutSubqueries(text: string): string {
  const shorter = text.replace(/\([^()]*\)/g, ' ')
  return shorter === text ? text : withoutSubqueries(shorter)
}
