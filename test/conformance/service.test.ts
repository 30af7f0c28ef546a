import { expect, test } from 'vitest'
import { type Behaviour, checkThings, refusal } from './things-service.ts'

async function linesOf(behaviour: Behaviour) {
  const { checks, hasPassed, waited } = await checkThings(behaviour)
  const failed = checks.filter(({ outcome }) => outcome === 'failed')
  return {
    hasPassed,
    waited,
    names: checks.map(({ check }) => check),
    failed: Object.fromEntries(failed.map(({ check, findings }) => [check, findings])),
    unchecked: checks.filter(({ outcome }) => outcome === 'unchecked').map(({ check }) => check),
  }
}

test('a correct service passes every check', async () => {
  const { hasPassed, failed, unchecked, names, waited } = await linesOf({})
  expect({ hasPassed, failed, unchecked, waited }).toEqual({ hasPassed: true, failed: {}, unchecked: [], waited: 0 })
  expect(names).toEqual([
    'things.list: the reply matches its schema',
    'things.read: the reply matches its schema',
    'things.create: the reply matches its schema',
    'an unknown id is refused as such',
    'things.create: a repeated Idempotency-Key returns the first reply',
    'things.create: Idempotency-Key with another body is refused',
    'a call without an assertion is refused',
    'a token that is not a JWT is refused',
    'an unsigned assertion is refused',
    'an assertion with a wrong signature is refused',
    'an expired assertion is refused',
    'an assertion that is not valid yet is refused',
    'an assertion for another audience is refused',
    'an assertion of another issuer is refused',
    'an access token is refused',
  ])
})

test.each<[string, Behaviour, readonly string[]]>([
  ['ignores the audience', { ignores: 'audience' }, ['an assertion for another audience is refused']],
  ['ignores the issuer', { ignores: 'issuer' }, ['an assertion of another issuer is refused']],
  ['ignores the type', { ignores: 'typ' }, ['an access token is refused']],
  [
    'ignores the times',
    { ignores: 'currentDate' },
    ['an expired assertion is refused', 'an assertion that is not valid yet is refused'],
  ],
])('a service that %s fails for each operation', async (_name, behaviour, checks) => {
  const { hasPassed, failed } = await linesOf(behaviour)
  expect(hasPassed).toBe(false)
  expect(Object.keys(failed)).toEqual(checks)
  for (const findings of Object.values(failed)) {
    expect(findings).toHaveLength(3)
    expect(findings[0]).toBe('things.list: expected 401 without an envelope, got 200 with data')
  }
})

test('a service that accepts everyone fails every check of an assertion', async () => {
  expect(Object.keys((await linesOf({ acceptsAnyone: true })).failed)).toHaveLength(9)
})

test.each([
  ['another status', { status: 403 }, 'got 403 (status 403, not JSON)'],
  [
    'a refusal that would be relayed',
    { status: 401, body: refusal('ACCESS.PERMISSION_DENIED') },
    'got 401 ACCESS.PERMISSION_DENIED in an envelope',
  ],
])('a service that rejects an assertion with %s fails', async (_name, rejection, message) => {
  const { failed } = await linesOf({ rejection })
  expect(failed['an expired assertion is refused']?.[0]).toContain(message)
})

test('a service that rejects an assertion with a token code of Portico passes', async () => {
  const rejection = { status: 401, body: refusal('ACCESS.TOKEN_INVALID') }
  expect((await linesOf({ rejection })).hasPassed).toBe(true)
})

function changing(
  operation: string,
  changed: { status: number; body?: unknown; contentType?: string },
): NonNullable<Behaviour['reply']> {
  return (reply, request) => (request.operation === operation ? changed : reply)
}

test.each([
  [
    'a time without Z',
    { status: 200, body: [{ bizId: '01990000-0000-7000-8000-000000000001', name: 'a', createdAt: '2026-01-01' }] },
    'data.0.createdAt: Invalid ISO datetime',
  ],
  ['no data', { status: 200, body: null }, 'data: Invalid input: expected array, received null'],
  ['status 201', { status: 201, body: [] }, 'got 201 (status 201 without the envelope of a refusal)'],
  ['HTML', { status: 200, body: '<p>', contentType: 'text/html' }, 'got 200 (status 200, type text/html)'],
  [
    'a code that the gateway does not know',
    { status: 422, body: refusal('THING.BROKEN') },
    'got 422 (status 422, a refusal with a reserved or unknown code THING.BROKEN)',
  ],
  [
    'a code that the operation does not declare',
    { status: 409, body: refusal('STATE.CONFLICT') },
    'refused with 409 STATE.CONFLICT, which things.list does not declare',
  ],
  ['an error without an envelope', { status: 500 }, 'got 500 (status 500, not JSON)'],
])('a reply with %s fails with the reason', async (_name, changed, reason) => {
  const { hasPassed, failed } = await linesOf({ reply: changing('things.list', changed) })
  expect(hasPassed).toBe(false)
  expect(failed['things.list: the reply matches its schema']?.[0]).toContain(reason)
})

test('a declared refusal is reported as not checked, and the others are checked', async () => {
  const changed = { status: 404, body: refusal('RESOURCE.NOT_FOUND') }
  const { hasPassed, unchecked } = await linesOf({ reply: changing('things.create', changed) })
  expect(hasPassed).toBe(true)
  expect(unchecked).toEqual([
    'things.create: the reply matches its schema',
    'things.create: a repeated Idempotency-Key returns the first reply',
  ])
})

test('a service that refuses everything does not pass', async () => {
  const { hasPassed, failed } = await linesOf({
    reply: () => ({ status: 403, body: refusal('ACCESS.PERMISSION_DENIED') }),
  })
  expect(hasPassed).toBe(false)
  expect(Object.keys(failed)).toEqual(['an unknown id is refused as such'])
})

test('a service that returns data for an unknown id fails', async () => {
  const thing = { bizId: '01990000-0000-7000-8000-000000000001', name: 'a', createdAt: '2026-01-01T00:00:00Z' }
  const { failed } = await linesOf({ reply: changing('things.read', { status: 200, body: thing }) })
  expect(failed['an unknown id is refused as such']).toEqual([
    'things.read: expected 404 RESOURCE.NOT_FOUND, got 200 with data',
  ])
})

test.each<[string, Behaviour]>([
  ['forgets keys', { forgetsKeys: true }],
  ['uses X-Request-Id as the key', { usesRequestIds: true }],
])('a service that %s fails both checks of idempotency', async (_, behaviour) => {
  expect((await linesOf(behaviour)).failed).toEqual({
    'things.create: a repeated Idempotency-Key returns the first reply': ['the reply differs from the first one'],
    'things.create: Idempotency-Key with another body is refused': [
      'expected 422 REQUEST.ID_REUSED, got 200 with data',
    ],
  })
})

test('a service that ignores another body under one key fails', async () => {
  expect(Object.keys((await linesOf({ ignoresOtherBodies: true })).failed)).toEqual([
    'things.create: Idempotency-Key with another body is refused',
  ])
})

test('a service that fetches the keys late is waited for', async () => {
  const { hasPassed, waited } = await linesOf({ callsWithoutKeys: 4 })
  expect([hasPassed, waited]).toEqual([true, 4])
})

test('a service that accepts no assertion: the error names what to compare', async () => {
  const never = { callsWithoutKeys: Number.MAX_SAFE_INTEGER }
  await expect(checkThings(never)).rejects.toThrow(
    'the service fetched the keys and replies 401 to things.list: compare its issuer and audience',
  )
  await expect(checkThings({ ...never, acceptsAnyone: true })).rejects.toThrow(
    'never fetched the keys from http://127.0.0.1:9090/.well-known/jwks.json: set it as the URL of its keys',
  )
})
