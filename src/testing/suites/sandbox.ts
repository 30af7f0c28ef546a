import type { Domain } from '../../api/domain.ts'
import { isCommand, type Route, routesIn } from '../routes.ts'
import { addedRows, type Rows } from '../store.ts'
import type { Place } from '../world.ts'
import { outcomeOf, type Suite } from './suite.ts'

const countsOf = (rows: Rows): Map<string, number> => new Map([...rows].map(([table, { size }]) => [table, size]))

/** After a reset, nothing is left of what the commands and samples of a domain wrote in a sandbox. */
export const registerSandbox = (
  domains: readonly Domain[],
  { runner, world }: Suite,
  tablesOf: (domain: string) => readonly string[],
): void => {
  const { test, assertEqual } = runner

  const runCommand = async (place: Place, route: Route): Promise<void> => {
    const sample = await world().findSample(place, route.operation.id)
    if (sample && isCommand(route)) await world().send(route, world().headersFor(route, place.workspaceId), sample)
  }

  for (const { name, operations, migrations = [] } of domains)
    if (migrations.length > 0)
      test(`${name} onSandboxReset: removes the rows of the workspace`, async () => {
        const read = () => world().effects.readTables(tablesOf(name))
        const place = await world().openPlace()
        const before = await read()
        for (const route of routesIn(operations)) if (route.chainId !== 'api') await runCommand(place, route)
        const written = addedRows(before, await read())
        const reset = await place.call('POST', '/web/v1/consumer/sandbox/reset')
        assertEqual(outcomeOf(reset), [200], reset.text)
        const after = await read()
        const left = new Set(addedRows(before, after))
        const hint = `delete the rows of the workspace in onSandboxReset of ${name}`
        assertEqual(
          written.filter((row) => left.has(row)),
          [],
          hint,
        )
        const counts = countsOf(before)
        const grown = [...countsOf(after)].filter(([table, count]) => count > (counts.get(table) ?? 0))
        assertEqual(grown, [], hint)
      })
}
