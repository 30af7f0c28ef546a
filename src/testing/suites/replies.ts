import type { z } from 'zod'
import { isRecord } from '../../kernel/index.ts'
import { systemIds } from '../../platform/runtime/index.ts'
import type { WatchedHandlers } from '../handlers.ts'
import type { Reply } from '../http.ts'
import type { Route } from '../routes.ts'
import type { Place, Sample } from '../world.ts'
import { correctSample, needsSample, outcomeOf, type Suite } from './suite.ts'

const secret = 'portico-testing-secret'

/**
 * A reply that violates its schema is a 500 without its content. The handler's own reply has no undeclared field, which
 * `canSucceed` limits to routes with input that succeeds.
 */
export function registerReplies(
  routes: readonly Route[],
  { runner, world }: Suite,
  handlers: WatchedHandlers,
  canSucceed: (route: Route) => boolean = () => true,
): void {
  const { test, assertEqual } = runner
  for (const route of routes.filter(({ chain }) => chain.perimeter !== 'machine')) {
    const { operation, name } = route
    const { id, reply: schema, body } = operation
    if (typeof schema === 'string' || body === 'multipart') continue

    const sendTo = async (place: Place, input: Sample): Promise<Reply> => {
      const headers = { ...world().headersFor(route, place.workspaceId), 'x-request-id': systemIds.next() }
      return world().send(route, headers, input)
    }

    test(`${name} 500 SYSTEM.INTERNAL_ERROR: a reply against its schema leaks nothing`, async () => {
      const invalid = invalidReplyOf(schema)
      assertEqual(invalid === undefined, false, 'the reply schema rejects nothing')
      const place = await world().openPlace()
      const input = await world().validInputIn(place, route)
      const reply = await handlers.withReply(id, invalid, () => sendTo(place, input))
      assertEqual(
        outcomeOf(reply).at(-1),
        route.chain.perimeter === 'self' ? '5000' : 'SYSTEM.INTERNAL_ERROR',
        reply.text,
      )
      assertEqual(reply.text.includes(secret), false, reply.text)
    })

    if (!canSucceed(route)) continue
    test(`${name}: the handler replies with the declared fields only`, async () => {
      const place = await world().openPlace()
      const input = await (needsSample(operation) ? world().sampleIn(place, route) : world().validInputIn(place, route))
      const { result, replies } = await handlers.withField(id, { porticoTesting: secret }, () => sendTo(place, input))
      assertEqual(replies.length, 1, correctSample(id, result))
      assertEqual(schema.safeParse(replies[0]).error?.issues ?? [], [], 'the reply matches its schema')
      assertEqual(removedFields(replies[0], schema.safeParse(replies[0]).data), [], 'fields without a declaration')
      assertEqual(result.text.includes(secret), false, 'the gateway removes undeclared fields')
    })
  }
}

/** Undefined if the schema accepts anything. */
function invalidReplyOf(schema: z.ZodType): unknown {
  return [{ secret }, [secret], secret, 1].find((reply) => !schema.safeParse(reply).success)
}

function removedFields(raw: unknown, parsed: unknown, path = ''): string[] {
  if (Array.isArray(raw) && Array.isArray(parsed))
    return raw.flatMap((each, index) => removedFields(each, parsed[index], `${path}[${index}]`))
  if (!isRecord(raw) || !isRecord(parsed)) return []
  return Object.entries(raw).flatMap(([name, value]) => {
    const place = path === '' ? name : `${path}.${name}`
    if (value === undefined) return []
    return name in parsed ? removedFields(value, parsed[name], place) : [place]
  })
}
