import { CompiledQuery, type QueryId, type RootOperationNode } from 'kysely'
import type { Database } from '../../src/database/index.ts'

interface Plan {
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: Plan[]
}

/** Of partitions. */
const suffix = /_(first|\d{4}_\d{2}|\d+)$/

function countIn(plan: Plan, rows: Map<string, number>): void {
  const table = plan['Relation Name']?.replace(suffix, '')
  const read = (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops']
  if (table !== undefined) rows.set(table, (rows.get(table) ?? 0) + read)
  for (const part of plan.Plans ?? []) countIn(part, rows)
}

/** Runs the work, and then EXPLAIN with the options for each of its statements, which must be read-only. */
async function explain<Line>(
  database: Database,
  work: (watched: Database) => Promise<unknown>,
  options: string,
): Promise<Line[]> {
  const requested: { node: RootOperationNode; queryId: QueryId }[] = []
  const watched = database.withPlugin({
    transformQuery: ({ node, queryId }) => {
      requested.push({ node, queryId })
      return node
    },
    transformResult: async ({ result }) => result,
  })
  await work(watched)
  const lines: Line[] = []
  for (const { node, queryId } of requested) {
    const { sql, parameters } = database.getExecutor().compileQuery(node, queryId)
    // A list estimates its total with EXPLAIN.
    if (sql.startsWith('explain')) continue
    const explained = CompiledQuery.raw(`EXPLAIN (${options}) ${sql}`, [...parameters])
    const { rows } = await database.executeQuery<{ 'QUERY PLAN': Line }>(explained)
    lines.push(...rows.map((row) => row['QUERY PLAN']))
  }
  return lines
}

/** Counts per table. */
export async function rowsRead(
  database: Database,
  work: (watched: Database) => Promise<unknown>,
): Promise<(table: string) => number> {
  const rows = new Map<string, number>()
  for (const plans of await explain<{ Plan: Plan }[]>(database, work, 'ANALYZE, TIMING OFF, FORMAT JSON'))
    for (const { Plan: plan } of plans) countIn(plan, rows)
  return (table) => rows.get(table) ?? 0
}

/** Returns the plans as text, with the blocks that they read. */
export async function plansOf(database: Database, work: (watched: Database) => Promise<unknown>): Promise<string> {
  return (await explain<string>(database, work, 'ANALYZE, BUFFERS')).join('\n')
}
