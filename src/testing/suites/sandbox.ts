import type { Domain } from '../../api/domain.ts'
import { isCommand, routesIn } from '../routes.ts'
import { addedRows, withoutEach } from '../store.ts'
import type { Place } from '../world.ts'
import { outcomeOf, type Suite } from './suite.ts'

/**
 * After a reset, nothing is left of what the commands and samples of a domain wrote in a sandbox, and the rows of other
 * workspaces are unchanged.
 */
export function registerSandbox(
  domains: readonly Domain[],
  { runner, world }: Suite,
  tablesOf: (domain: string) => readonly string[],
): void {
  const { test, assertEqual } = runner

  const runCommands = async (place: Place, operations: object): Promise<void> => {
    for (const route of routesIn(operations).filter(isCommand)) {
      const sample = await world().findSample(place, route.operation.id)
      if (sample) await world().send(route, world().headersFor(route, place.workspaceId), sample)
    }
  }

  for (const { name, operations, migrations = [] } of domains)
    if (migrations.length > 0)
      test(`${name} onSandboxReset: removes the rows of the workspace, and no others`, async () => {
        const read = () => world().effects.readTables(tablesOf(name))
        await runCommands(await world().openPlace(), operations)
        // Some samples need a sandbox.
        await runCommands(await world().openPlace('LIVE'), operations).catch(() => undefined)
        const place = await world().openPlace()
        const before = await read()
        await runCommands(place, operations)
        const filled = await read()
        const written = addedRows(before, filled)
        const reset = await place.call('POST', '/web/v1/consumer/sandbox/reset')
        assertEqual(outcomeOf(reset), [200], reset.text)
        const after = await read()
        const hint = `delete the rows of the workspace in onSandboxReset of ${name}`
        const left = new Set(addedRows(before, after))
        assertEqual(
          written.filter((row) => left.has(row)),
          [],
          hint,
        )
        const grown = [...after].filter(([table, rows]) => rows.length > (before.get(table)?.length ?? 0))
        assertEqual(
          grown.map(([table]) => table),
          [],
          hint,
        )
        const lost = withoutEach(addedRows(after, filled), written)
        assertEqual(lost, [], `onSandboxReset of ${name} must change no row of another workspace`)
      })
}
