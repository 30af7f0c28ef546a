import { expect, test } from 'vitest'
import { readReply, toSeconds, UnreachableRefusal } from '../../../src/backends/upstream/reply.ts'
import { isCode } from '../../../src/contract/index.ts'
import { Refusal, type RefusalDetail } from '../../../src/kernel/index.ts'

function detailOf(status: number, bytes: Buffer, rateLimitPolicy = '', retryAfter = '', fields = ''): RefusalDetail {
  try {
    readReply({ status, contentType: 'application/json', retryAfter, rateLimitPolicy, fields, bytes }, isCode)
  } catch (error) {
    if (error instanceof Refusal) return error.detail
    throw error
  }
  throw new Error('not refused')
}

function refusing(code: string, more: object = {}) {
  return { success: false, code, message: '', data: null, ...more }
}
function refusedBy(code: string, rateLimitPolicy: string, retryAfter = '17'): RefusalDetail {
  return detailOf(429, Buffer.from(JSON.stringify(refusing(code))), rateLimitPolicy, retryAfter)
}

test('429 ACCESS.RATE_LIMITED of an upstream relays the limit that it names', () => {
  const limit = { name: 'exports', limit: 5, windowMs: 3_600_000, resetMs: 17_000 }
  expect(refusedBy('ACCESS.RATE_LIMITED', '"exports";q=5;w=3600')).toMatchObject({ retryAfter: 17, limit })
  expect(refusedBy('ACCESS.RATE_LIMITED', '"exports";q=5;w=3600', '')).toMatchObject({
    retryAfter: 1,
    limit: { ...limit, resetMs: 1_000 },
  })
})

test.each([{ success: false, code: 'RESOURCE.NOT_FOUND' }, { detail: [] }])(
  '404 with %j is logged as a reply without an envelope',
  (body) => {
    const { internal } = detailOf(404, Buffer.from(JSON.stringify(body)))
    expect(internal).toBe('status 404 without the envelope of a refusal')
  },
)

test.each([
  '',
  'exports;q=5;w=3600',
  '"exports";q=5',
  '"exports";q=5;w=3600, "other";q=1;w=1',
  '"exports";q=5;w=3600;x=y',
  '"";q=5;w=3600',
  '"EXPORTS";q=5;w=3600',
  '"a\r\nx: y";q=5;w=3600',
  '"exports";q=-5;w=3600',
  '"exports";q=99999999999;w=3600',
])('429 of an upstream with the policy %j reports no limit', (policy) => {
  expect(refusedBy('ACCESS.RATE_LIMITED', policy).limit).toBeUndefined()
})

test('409 of an upstream relays no limit', () => {
  expect(refusedBy('STATE.CONFLICT', '"exports";q=5;w=3600').limit).toBeUndefined()
})

test.each([200, 404, 503])('%s with JSON nested 500,000 times is refused before it is parsed', (status) => {
  const before = process.cpuUsage()
  for (const [open, close] of [
    ['[', ']'],
    ['{"a":', '}'],
  ] as const)
    expect(detailOf(status, Buffer.from(`${open.repeat(500_000)}1${close.repeat(500_000)}`)).internal).toMatch(
      /nested too deep|responded with 503/,
    )
  expect(process.cpuUsage(before).user / 1_000).toBeLessThan(1_000)
})

/** A refusal also shows whether it counts as a failure of the upstream. */
function resultOf(status: number, body: unknown, contentType = 'application/json'): unknown {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body))
  try {
    return readReply({ status, contentType, retryAfter: '', rateLimitPolicy: '', fields: '', bytes }, isCode)
  } catch (error) {
    if (error instanceof Refusal) return [error.code, error instanceof UnreachableRefusal ? 'unwell' : 'well']
    throw error
  }
}
const invalid = 'SYSTEM.UPSTREAM_INVALID_RESPONSE'
test.each<[string, number, unknown, string | undefined, unknown]>([
  ['data', 200, { a: 1 }, undefined, { a: 1 }],
  ['data in an envelope', 200, { success: true, code: '2000', message: '', data: [1] }, undefined, [1]],
  ['data with some members of an envelope', 200, { success: true, data: 1 }, undefined, { success: true, data: 1 }],
  [
    'data with the names of an envelope and other types',
    200,
    { success: 'x', code: '', message: '', data: 1 },
    undefined,
    { success: 'x', code: '', message: '', data: 1 },
  ],
  ['a type with its charset', 200, 'a', 'Application/JSON; charset=utf-8', 'a'],
  ['a type with another spelling of its charset', 200, 'a', 'application/json;charset="UTF8"', 'a'],
  ['a type with unknown parameters', 200, 'a', 'application/json; v=1; odata.metadata=minimal', 'a'],
  ['a byte-order mark', 200, Buffer.from('\ufeff{"a":1}'), undefined, { a: 1 }],
  ['two byte-order marks', 200, Buffer.from('\ufeff\ufeff{}'), undefined, [invalid, 'well']],
  ['a type with the same prefix', 200, 'a', 'application/jsonlines', [invalid, 'well']],
  ['invalid UTF-8', 200, Buffer.from([0x22, 0xff, 0x22]), undefined, [invalid, 'well']],
  ['invalid JSON', 200, Buffer.from('{'), undefined, [invalid, 'well']],
  ['a number that a double changes', 200, Buffer.from('{"a":9007199254740993}'), undefined, [invalid, 'well']],
  ['a number above all doubles', 200, Buffer.from('{"a":[1e400]}'), undefined, [invalid, 'well']],
  ['an exact number in another spelling', 200, Buffer.from('{"a":1.50E+1}'), undefined, { a: 15 }],
  ['a refusal', 409, refusing('STATE.CONFLICT'), undefined, ['STATE.CONFLICT', 'well']],
  ['a refusal with status 200', 200, refusing('STATE.CONFLICT'), undefined, ['STATE.CONFLICT', 'well']],
  ['a refusal with success: true', 409, refusing('STATE.CONFLICT', { success: true }), undefined, [invalid, 'well']],
  ['data with another status', 201, { a: 1 }, undefined, [invalid, 'well']],
  ['an unknown code', 409, refusing('NO.SUCH_CODE'), undefined, [invalid, 'well']],
  ['a ROUTE code', 404, refusing('ROUTE.NOT_FOUND'), undefined, [invalid, 'well']],
  ['a TOKEN code', 401, refusing('ACCESS.TOKEN_INVALID'), undefined, [invalid, 'well']],
  ['a SYSTEM code', 500, refusing('SYSTEM.INTERNAL_ERROR'), undefined, [invalid, 'well']],
  ['JSON without an envelope', 400, {}, undefined, [invalid, 'well']],
  ['an HTML page', 400, 'a page', 'text/html', [invalid, 'well']],
  ['an empty JSON body', 404, Buffer.alloc(0), undefined, [invalid, 'well']],
  ['binary data as JSON', 404, Buffer.from([0xff]), undefined, [invalid, 'well']],
  ['an HTML page', 499, 'a page', 'text/html', [invalid, 'well']],
  ['an HTML page', 500, 'a page', 'text/html', [invalid, 'well']],
  ['an HTML page', 502, 'a page', 'text/html', [invalid, 'unwell']],
  ['an HTML page', 504, 'a page', 'text/html', [invalid, 'unwell']],
  ['a refusal', 503, refusing('STATE.CONFLICT'), undefined, ['STATE.CONFLICT', 'well']],
  ['JSON without an envelope', 503, {}, undefined, ['SYSTEM.UNAVAILABLE', 'unwell']],
  ['an empty JSON body', 503, Buffer.alloc(0), undefined, ['SYSTEM.UNAVAILABLE', 'unwell']],
  ['an HTML page', 503, 'a page', 'text/html', ['SYSTEM.UNAVAILABLE', 'unwell']],
])('a reply of an upstream: %s, status %d', (_what, status, body, contentType, result) => {
  expect(resultOf(status, body, contentType)).toEqual(result)
})

test.each([
  ['filters.endTime', 'filters.endTime'],
  ['a b', undefined],
  ['<script>', undefined],
  ['a'.repeat(65), undefined],
  [1, undefined],
])('a refusal of an upstream with the field %s relays %s', (field, repeated) => {
  const bytes = Buffer.from(JSON.stringify(refusing('VALIDATION.INVALID_PARAMETER', { field })))
  expect(detailOf(400, bytes)).toEqual({ internal: 'refused upstream', ...(repeated && { field: repeated }) })
})

test.each([
  ['NO.SUCH_CODE', 'NO.SUCH_CODE'],
  ['SYSTEM.INTERNAL_ERROR', 'SYSTEM.INTERNAL_ERROR'],
  ['not-enough:money', 'not-enough:money'],
  [4001, '4001'],
  ['two words', undefined],
  ['line\nbreak', undefined],
  ['', undefined],
  ['A'.repeat(65), undefined],
  [{ code: 'A' }, undefined],
  [null, undefined],
])('422 of an upstream with the code %j is logged with upstreamCode %s', (code, upstreamCode) => {
  const detail = detailOf(422, Buffer.from(JSON.stringify({ ...refusing(''), code })))
  expect(detail).toEqual({
    internal: 'status 422, a refusal with a reserved or unknown code',
    ...(upstreamCode !== undefined && { upstreamCode }),
  })
})

test('503 of an upstream with an unknown code is logged with it', () => {
  expect(detailOf(503, Buffer.from(JSON.stringify(refusing('MAINTENANCE'))))).toMatchObject({
    internal: 'upstream responded with 503',
    upstreamCode: 'MAINTENANCE',
  })
})

test.each([
  ['120', '', '120'],
  ['', '', ''],
  ['soon', '', 'soon'],
  ['Wed, 21 Oct 2026 07:28:00 GMT', 'Wed, 21 Oct 2026 07:26:00 GMT', '120'],
  ['Wed, 21 Oct 2026 07:28:00 GMT', 'Wed, 21 Oct 2026 07:29:00 GMT', '0'],
  ['Wed, 21 Oct 2026 07:28:00 GMT', '', ''],
  ['Wed, 99 Oct 2026 07:28:00 GMT', 'Wed, 21 Oct 2026 07:26:00 GMT', ''],
  ['Wed Oct 21 07:28:00 2026', 'Wed, 21 Oct 2026 07:26:00 GMT', 'Wed Oct 21 07:28:00 2026'],
])('a Retry-After of %j at the Date %j is %j seconds', (retryAfter, date, seconds) => {
  expect(toSeconds(retryAfter, date)).toBe(seconds)
})

test.each([503, 502, 504, 429, 500])('%d of an upstream without an envelope passes on Retry-After', (status) => {
  expect(detailOf(status, Buffer.from('{}'), '', '120')).toMatchObject({ retryAfter: 120 })
  expect(detailOf(status, Buffer.from('{}'), '', '12 s').retryAfter).toBe(status === 503 ? 1 : undefined)
})

test('503 of an upstream has a Retry-After of one second', () => {
  expect(detailOf(503, Buffer.from('{}'))).toMatchObject({ retryAfter: 1 })
})

test('400 VALIDATION.INVALID_PARAMETER of an upstream: its X-Portico-Fields is passed on, or dropped', () => {
  const body = Buffer.from(JSON.stringify(refusing('VALIDATION.INVALID_PARAMETER', { field: 'amount' })))
  const fieldsOf = (header: string) => detailOf(400, body, '', '', header)
  expect(fieldsOf('amount;reason=too_small, "0";reason=unknown')).toMatchObject({
    field: 'amount',
    fields: [
      { name: 'amount', reason: 'too_small' },
      { name: '0', reason: 'unknown' },
    ],
  })
  for (const header of ['amount;reason=<b>', 'amount;secret="4111"', 'x'.repeat(5_000)])
    expect(fieldsOf(header).fields).toBeUndefined()
})
