import { domainOf } from '../../kernel/index.ts'
import { developmentIds } from '../../seed/development.ts'
import { deriveValid } from '../inputs.ts'
import { isInWorkspace, isPlainRead, isWrite, type Route } from '../routes.ts'
import { bearer } from '../world.ts'
import { outcomeOf, type Suite } from './suite.ts'

/** A read-only role reads everything and writes nothing, except commands in `openToReaders`. */
export function registerReadOnly(
  routes: readonly Route[],
  { runner, world }: Suite,
  openToReaders: readonly string[],
): void {
  const { test, assertEqual } = runner
  const writes = routes.filter(isWrite)
  const reads = routes.filter((route) => isInWorkspace(route) && route.chainId === 'consumer' && !isWrite(route))
  const viewer = () => ({ ...bearer(world().viewer), 'x-workspace-id': developmentIds.workspace })

  const readAll = async (domain: string): Promise<string[]> => {
    const texts: string[] = []
    for (const route of routes.filter((each) => isPlainRead(each) && domainOf(each.operation.id) === domain))
      texts.push((await world().send(route, world().headersFor(route))).text.replace(/"timestamp":\d+/, ''))
    return texts
  }

  for (const route of writes.filter(({ operation }) => !openToReaders.includes(operation.id)))
    test(`${route.name} 403 ACCESS.PERMISSION_DENIED: a read-only role writes nothing`, async () => {
      const { id, body } = route.operation
      const valid = typeof body === 'string' ? undefined : deriveValid(body)
      const before = await readAll(domainOf(id))
      const hint = `require a permission other than :read; if every member may execute it, add '${id}' to \`openToReaders\` of promises()`
      for (const input of [valid && { body: valid }, {}])
        if (input)
          assertEqual(outcomeOf(await world().send(route, viewer(), input)), [403, 'ACCESS.PERMISSION_DENIED'], hint)
      assertEqual(await readAll(domainOf(id)), before, 'data of the domain')
    })

  for (const route of reads)
    test(`${route.name}: a read-only role is allowed to read`, async () => {
      // A stream does not end, but a stage behind the permissions refuses an unknown parameter.
      const input = route.operation.reply === 'events' ? { query: { unknown: '' } } : {}
      const reply = await world().send(route, viewer(), input)
      assertEqual(reply.status === 403 || reply.status === 401, false, reply.text)
      if (isPlainRead(route)) assertEqual(reply.status, 200, reply.text)
    })
}
