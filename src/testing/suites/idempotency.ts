import { isRecord, type Operation } from '../../kernel/index.ts'
import { systemIds } from '../../platform/runtime/index.ts'
import type { Reply } from '../http.ts'
import { otherValid } from '../inputs.ts'
import { hasJsonBody, type Route } from '../routes.ts'
import { addedRows } from '../store.ts'
import type { Sample, World } from '../world.ts'
import { correctSample, outcomeOf, type Suite } from './suite.ts'

const maxAttempts = 3

/** Equal requests with one X-Request-Id or Idempotency-Key have one effect and one reply, also concurrently. Another input is refused. */
export function registerIdempotency(routes: readonly Route[], { runner, world }: Suite): void {
  const { test, assertEqual } = runner
  for (const route of routes.filter(
    ({ operation, chain }) => operation.policy.idempotent && chain.perimeter !== 'machine',
  ))
    test(`${route.name}: takes effect once per X-Request-Id; another input is 422 REQUEST.ID_REUSED`, async () => {
      const place = await world().openPlace()
      const sample = await world().sampleIn(place, route)
      const headers = { ...world().headersFor(route, place.workspaceId), 'x-request-id': systemIds.next() }
      // As a proxy replaces X-Request-Id.
      const renamed = {
        ...headers,
        'x-request-id': systemIds.next(),
        'idempotency-key': `"${headers['x-request-id']}"`,
      }
      const send = (input: Sample, sent = headers) => world().send(route, sent, input)

      const together = await Promise.all([send(sample), send(sample)])
      const [done] = together.filter(({ status }) => status === 200)
      const refused = together.filter(({ status }) => status !== 200)
      assertEqual(
        refused.map((reply) => [reply.status, outcomeOf(reply)[1], reply.headers.get('retry-after')]),
        done ? refused.map(() => [409, 'REQUEST.IN_PROGRESS', '1']) : [],
        'requests sent together',
      )
      const repeated = await send(sample)
      assertEqual(outcomeOf(repeated), [200], correctSample(route.operation.id, repeated))
      for (const reply of together.filter(({ status }) => status === 200))
        assertEqual(dataOf(reply), dataOf(repeated), 'reply of a repeated request')

      for (const sent of [headers, renamed])
        assertEqual(
          await addedBy(world(), () => send(sample, sent)),
          [],
          'rows, balances and audit entries of a repeated request',
        )
      assertEqual(dataOf(await send(sample, renamed)), dataOf(repeated), 'reply to the same Idempotency-Key')

      // Without a body, another id in the path is another input.
      const other = hasJsonBody(route) ? otherBody(route.operation, sample) : await world().sampleIn(place, route)
      assertEqual(outcomeOf(await send(other)), [422, 'REQUEST.ID_REUSED'], 'another input')
      assertEqual(dataOf(await send(sample)), dataOf(repeated), 'reply after the refusal')
    })
}

function dataOf({ body }: Reply): unknown {
  return isRecord(body) ? body.data : undefined
}

/** Returns the rows that a request adds. Background work can add rows meanwhile, but hardly at each attempt. */
async function addedBy({ effects }: World, request: () => Promise<unknown>): Promise<string[]> {
  for (let attempt = 1; ; attempt++) {
    const before = await effects.readEffects()
    await request()
    const added = addedRows(before, await effects.readEffects())
    if (added.length === 0 || attempt === maxAttempts) return added
  }
}

/** Throws if the sample allows no other body. The error names what to add. */
function otherBody({ body, id }: Operation, sample: Sample): Sample {
  if (typeof body === 'string') return sample
  const other = otherValid(body, sample.body ?? {})
  if (!other) throw new Error(`add a body with a field that can change for '${id}' to \`samples\` of promises()`)
  return { ...sample, body: { ...other } }
}
