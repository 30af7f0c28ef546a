import { systemIds } from '../../platform/runtime/index.ts'
import { isCommand, type Route } from '../routes.ts'
import { correctSample, needsSample, outcomeOf, type Suite } from './suite.ts'

/** Each command writes an audit entry with the id of its request, except those in `unaudited`. */
export const registerAudit = (
  routes: readonly Route[],
  { runner, world }: Suite,
  unaudited: readonly string[],
): void => {
  const { test, assertEqual } = runner
  for (const route of routes.filter(isCommand)) {
    const { id } = route.operation
    if (unaudited.includes(id)) continue
    test(`${route.name}: writes an audit entry`, async () => {
      const place = await world().openPlace()
      const input = await (needsSample(route.operation)
        ? world().sampleIn(place, route)
        : world().validInputIn(place, route))
      const requestId = systemIds.next()
      const headers = { ...world().headersFor(route, place.workspaceId), 'x-request-id': requestId }
      const reply = await world().send(route, headers, input)
      assertEqual(outcomeOf(reply), [200], correctSample(id, reply))
      const entries = await world().effects.countAuditEntries(id, requestId)
      const hint = `call recordSuccess in its transaction; if it changes nothing, add '${id}' to \`unaudited\` of promises()`
      assertEqual(entries > 0, true, hint)
    })
  }
}
