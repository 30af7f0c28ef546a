import { CompiledQuery, type QueryId, type RootOperationNode } from 'kysely'
import type { Database } from '../../src/database/index.ts'

interface Plan {
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: Plan[]
}

const countIn = (plan: Plan, rows: Map<string, number>): void => {
  const table = plan['Relation Name']
  const read = (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops']
  if (table !== undefined) rows.set(table, (rows.get(table) ?? 0) + read)
  for (const part of plan.Plans ?? []) countIn(part, rows)
}

/** Uses EXPLAIN ANALYZE on read-only statements. Counts per table. */
export const rowsRead = async (
  database: Database,
  work: (watched: Database) => Promise<unknown>,
): Promise<(table: string) => number> => {
  const requested: { node: RootOperationNode; queryId: QueryId }[] = []
  const watched = database.withPlugin({
    transformQuery: ({ node, queryId }) => {
      requested.push({ node, queryId })
      return node
    },
    transformResult: async ({ result }) => result,
  })
  await work(watched)
  const rows = new Map<string, number>()
  for (const { node, queryId } of requested) {
    const { sql, parameters } = database.getExecutor().compileQuery(node, queryId)
    const explained = CompiledQuery.raw(`EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ${sql}`, [...parameters])
    const { rows: plans } = await database.executeQuery<{ 'QUERY PLAN': { Plan: Plan }[] }>(explained)
    for (const { Plan: plan } of plans[0]?.['QUERY PLAN'] ?? []) countIn(plan, rows)
  }
  return (table) => rows.get(table) ?? 0
}
