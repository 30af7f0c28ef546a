import { expect, test } from 'vitest'
import { z } from 'zod'
import { catalogue } from '../../src/contract/index.ts'
import { canonicalJson } from '../../src/kernel/index.ts'
import { readExamples } from '../../src/openapi/examples.ts'

const recorded = readExamples(new URL('../../docs/examples.json', import.meta.url))

const commands = catalogue.flatMap(({ id, policy, body }) =>
  policy.idempotent && body instanceof z.ZodType
    ? [{ id, body, request: z.looseObject({}).parse(recorded.operations.get(id)?.request ?? {}) }]
    : [],
)

// A retry is recognized by its body's digest. With a new default, a retry during a rollout would be rejected, and a
// client that starts over would execute the command twice.
test.each(commands)('$id: parsing the body adds no field', ({ body, request }) => {
  const partial = Object.keys(request).map((absent) => Object.entries(request).filter(([name]) => name !== absent))
  for (const sent of [request, ...partial.map((entries) => Object.fromEntries(entries))]) {
    const read = body.safeParse(sent)
    if (read.success) expect(canonicalJson(read.data)).toBe(canonicalJson(sent))
  }
  expect(canonicalJson(body.parse(request))).toBe(canonicalJson(request))
})
