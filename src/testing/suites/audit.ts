import { systemIds } from '../../platform/runtime/index.ts'
import { isCommand, type Route } from '../routes.ts'
import { correctSample, needsSample, outcomeOf, type Suite } from './suite.ts'

/** Each command writes an audit entry with the id and the workspace of its request, except those in `unaudited`. */
export function registerAudit(routes: readonly Route[], { runner, world }: Suite, unaudited: readonly string[]): void {
  const { test, assertEqual } = runner
  for (const route of routes.filter(isCommand)) {
    const { id, policy } = route.operation
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
      const workspaces = await world().effects.auditedWorkspaces(id, requestId)
      const hint = `run it in \`once\`, or call recordSuccess in its transaction; if it changes nothing, add '${id}' to \`unaudited\` of promises()`
      assertEqual(workspaces.length > 0, true, hint)
      // A command without a workspace, such as one of an operator, can be about any.
      if (policy.workspace !== 'required') return
      assertEqual(
        workspaces.includes(place.workspaceId),
        true,
        `pass the workspace of the request to recordSuccess in ${id}`,
      )
    })
  }
}
