import { domainOf, pathParamNames } from '../../kernel/index.ts'
import { idFieldsOf } from '../inputs.ts'
import { isInWorkspace, isList, isPlainRead, type Route, unknownId } from '../routes.ts'
import type { Place } from '../world.ts'
import { correctSample, distinctionsOf, type Suite } from './suite.ts'

const isoTime = /\d{4}-\d\d-\d\dT[\d:.]+Z/g

/**
 * An id of another workspace gets the response of an unknown id, in the path and the body. No list shows what another
 * workspace writes. A list that its own workspace's records do not change was not checked: this fails for
 * `checkedLists`.
 */
export function registerTenancy(
  routes: readonly Route[],
  { runner, world }: Suite,
  checkedLists: readonly string[] = [],
): void {
  const { test, beforeAll, assertEqual } = runner
  const inPaths = withPathIds(routes)
  const inBodies = withBodyIds(routes)
  const lists = routes.filter(isPlainRead)
  if (inPaths.length + inBodies.length + lists.length === 0) return

  let local: Place
  let foreign: Place
  let apiKey = ''
  beforeAll(async () => {
    local = await world().openPlace()
    foreign = await world().openPlace()
    const needed = inPaths.flatMap(({ chainId, operation }) => (chainId === 'api' ? [operation.policy.permission] : []))
    const permissions = [...new Set(needed)].filter((permission) => permission !== null)
    if (permissions.length > 0) apiKey = await world().createApiKey(local.workspaceId, permissions)
  })

  const headersOf = (route: Route): Record<string, string> =>
    route.chainId === 'api' ? { authorization: `Bearer ${apiKey}` } : world().headersFor(route, local.workspaceId)

  for (const route of inPaths)
    test(`${route.name}: an id of another workspace has the same response as an unknown id`, async () => {
      const { params = {} } = await world().sampleIn(foreign, route)
      const { query, body } = await world().sampleIn(local, route)
      const input = { ...(query && { query }), ...(body && { body }) }
      const unknown = await world().send(route, headersOf(route), input)
      const theirs = await world().send(route, headersOf(route), { ...input, params })
      assertEqual(distinctionsOf(theirs), distinctionsOf(unknown))
      const ids = pathParamNames(route.operation.path).map((name) => params[name] ?? '')
      assertEqual(
        ids.filter((id) => theirs.text.includes(id)),
        [],
        'ids in the response',
      )
      // If the body is rejected, the id was not looked up.
      assertEqual([200, 404].includes(theirs.status), true, correctSample(route.operation.id, theirs))
    })

  for (const { route, field } of inBodies)
    test(`${route.name} ${field}: an id of another workspace has the same response as an unknown id`, async () => {
      const { crossWorkspace, ...input } = await world().sampleIn(local, route)
      const theirId = (await world().sampleIn(foreign, route)).body?.[field]
      assertEqual(
        typeof theirId,
        'string',
        `add ${field} to the body of '${route.operation.id}' in \`samples\` of promises()`,
      )
      const sendWith = (id: unknown) =>
        world().send(route, headersOf(route), { ...input, body: { ...input.body, [field]: id } })
      const unknown = await sendWith(unknownId)
      assertEqual(unknown.status, 404, unknown.text)
      if (crossWorkspace?.includes(field)) return
      const theirs = await sendWith(theirId)
      const hint = `look ${field} up in the workspace of the request; if it may be an id of another workspace, list it in \`crossWorkspace\` of the sample '${route.operation.id}'`
      assertEqual(distinctionsOf(theirs), distinctionsOf(unknown), hint)
      // The other workspace's id is the only reason for the refusal.
      const own = await world().send(route, headersOf(route), input)
      assertEqual(own.status === 404, false, correctSample(route.operation.id, own))
    })

  for (const route of lists)
    test(`${route.name}: contains nothing of another workspace`, async () => {
      const { id } = route.operation
      const theirs = await world().openPlace()
      const readIn = async ({ workspaceId }: Place): Promise<string> => {
        const { status, text } = await world().send(route, world().headersFor(route, workspaceId))
        assertEqual(status, 200, text)
        return text.replace(/"timestamp":\d+/, '').replaceAll(isoTime, '')
      }
      const before = { own: await readIn(local), theirs: await readIn(theirs) }
      await world().writeIn(theirs, routes, domainOf(id))
      assertEqual(await readIn(local), before.own, 'the response after another workspace wrote records')
      if (!checkedLists.includes(id) || !isList(route)) return
      const hint = `no sample creates a record that '${id}' lists: add one to \`samples\` of promises(), or add '${id}' to \`sharedLists\``
      assertEqual((await readIn(theirs)) !== before.theirs, true, hint)
    })
}

/** Samples contain no forms. */
function withPathIds(routes: readonly Route[]): Route[] {
  return routes.filter((route) => {
    const { body, path } = route.operation
    return isInWorkspace(route) && route.chainId !== 'system' && body !== 'multipart' && pathParamNames(path).length > 0
  })
}

function withBodyIds(routes: readonly Route[]): { route: Route; field: string }[] {
  return routes
    .filter((route) => isInWorkspace(route) && route.chainId === 'consumer')
    .flatMap((route) => idFieldsOf(route.operation).map((field) => ({ route, field })))
}
