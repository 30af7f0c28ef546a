import { expect, test } from 'vitest'
import { z } from 'zod'
import { catalogue } from '../../src/contract/index.ts'
import { readExamples } from '../../src/openapi/examples.ts'

const recorded = readExamples(new URL('../../docs/examples.json', import.meta.url))

const commands = catalogue.flatMap(({ id, policy, body }) =>
  policy.idempotent && body instanceof z.ZodType
    ? [{ id, body, request: z.looseObject({}).parse(recorded.operations.get(id)?.request ?? {}) }]
    : [],
)

// A command that is asked again is known by its body. What one version put into it, a repetition that meets another lacks: while
// one is rolled out, what has been done would be refused as done with another body, and done twice by who then asks anew.
test.each(commands)('the body of $id is what was sent, with nothing put in, to any version', ({ body, request }) => {
  const withouts = Object.keys(request).map((absent) => Object.entries(request).filter(([name]) => name !== absent))
  for (const sent of [request, ...withouts.map((entries) => Object.fromEntries(entries))]) {
    const read = body.safeParse(sent)
    if (read.success) expect(read.data).toEqual(sent)
  }
  expect(body.parse(request)).toEqual(request)
})
