import { pathParameterSchema } from '../../contract/fields.ts'
import { observedErrors } from '../../contract/observed-errors.ts'
import { codeForMalformedParam } from '../../contract/policies.ts'
import { isRecord, pathParamNames } from '../../kernel/index.ts'
import type { Reply } from '../http.ts'
import { fieldsOf, wrongTextsOf, wrongValuesOf } from '../inputs.ts'
import type { Route } from '../routes.ts'
import type { Place } from '../world.ts'
import { outcomeOf, type Suite } from './suite.ts'

const unknownField = 'porticoTesting'

/** Unknown fields, values of other types and malformed ids get a 400 that names the field. */
export function registerValidation(routes: readonly Route[], { runner, world }: Suite): void {
  const { test, beforeAll, assertEqual } = runner
  let place: Place
  beforeAll(async () => {
    place = await world().openPlace()
  })
  const invalid = [400, 'VALIDATION.INVALID_PARAMETER']

  for (const route of routes.filter(({ chain }) => chain.perimeter !== 'machine')) {
    const { operation, name, chain } = route
    const { id, query, body, policy } = operation
    // users/self has numeric codes.
    const refused = chain.perimeter === 'self' ? [400, '4000'] : invalid
    const assertNames = (reply: Reply, field: string, what: string): void => {
      assertEqual(outcomeOf(reply), refused, what)
      assertEqual(messageOf(reply).includes(field), true, `${what}: the message names ${field}: ${messageOf(reply)}`)
    }
    const isObserved = observedErrors.get(id)?.condition === 'no-channel-session'
    if (body === 'multipart' || body === 'raw' || isObserved) continue

    test(`${name} 400 VALIDATION.INVALID_PARAMETER: an unknown query parameter`, async () => {
      // A required parameter that is missing would be the error.
      const required = query ? (await world().validInputIn(place, route)).query : {}
      const input = { query: { ...required, [unknownField]: '1' } }
      assertNames(await world().send(route, world().headersFor(route), input), unknownField, 'unknown')
    })

    if (query)
      test(`${name} 400 VALIDATION.INVALID_PARAMETER: malformed query parameters`, async () => {
        const valid = await world().validInputIn(place, route)
        const withQuery = (changed: object) =>
          world().send(route, world().headersFor(route), { ...valid, query: { ...valid.query, ...changed } })
        assertNames(await withQuery({ [unknownField]: '1' }), unknownField, 'unknown')
        for (const [field, schema] of Object.entries(fieldsOf(query)))
          for (const wrong of wrongTextsOf(schema)) assertNames(await withQuery({ [field]: wrong }), field, field)
      })

    if (policy.idempotent)
      test(`${name} 400 VALIDATION.INVALID_PARAMETER: without X-Request-Id`, async () => {
        const reply = await world().send(route, { ...world().headersFor(route), 'x-request-id': null })
        assertEqual(outcomeOf(reply), refused)
      })

    const malformed = pathParamNames(operation.path).filter(
      (param) => !pathParameterSchema(operation, param).safeParse('not-an-id').success,
    )
    if (malformed.length > 0)
      test(`${name} ${codeForMalformedParam(operation)}: a malformed id in the path`, async () => {
        const { params, ...valid } = await world().validInputIn(place, route)
        for (const param of malformed) {
          const input = { ...valid, params: { ...params, [param]: 'not-an-id' } }
          const [, code] = outcomeOf(await world().send(route, world().headersFor(route), input))
          assertEqual(code, codeForMalformedParam(operation), param)
        }
      })

    if (body === 'none' && operation.method !== 'GET')
      test(`${name} 400 VALIDATION.INVALID_PARAMETER: a body, because it takes none`, async () => {
        const reply = await world().gateway.call(route.method, route.path, {
          headers: world().headersFor(route),
          body: { [unknownField]: 1 },
        })
        assertEqual(outcomeOf(reply), refused)
      })

    if (typeof body === 'string') continue
    test(`${name} 400: a body that is not JSON`, async () => {
      const reply = await world().gateway.call(route.method, route.path, {
        headers: world().headersFor(route),
        body: '{',
      })
      assertEqual(reply.status, 400, reply.text)
    })

    const prepare = async () => {
      const valid = await world().validInputIn(place, route)
      return (field: string, value: unknown) =>
        world().send(route, world().headersFor(route), { ...valid, body: { ...valid.body, [field]: value } })
    }
    test(`${name} 400 VALIDATION.INVALID_PARAMETER: an unknown field`, async () => {
      const sendWith = await prepare()
      assertNames(await sendWith(unknownField, 1), unknownField, 'unknown field')
    })

    const wrongFields = Object.entries(fieldsOf(body)).flatMap(([field, schema]) =>
      wrongValuesOf(schema).map((wrong) => ({ field, wrong })),
    )
    if (wrongFields.length > 0)
      test(`${name} 400 VALIDATION.INVALID_PARAMETER: a field of another type`, async () => {
        const sendWith = await prepare()
        for (const { field, wrong } of wrongFields)
          assertNames(await sendWith(field, wrong), field, `${field}: ${JSON.stringify(wrong)}`)
      })
  }
}

function messageOf({ body }: Reply): string {
  return isRecord(body) ? String(body.message) : ''
}
