import { Webhook } from 'standardwebhooks'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { type PorticoEvent, verifyWebhook, type WebhookErrorCode } from '../../../src/client/webhooks/index.ts'

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const otherSecret = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'
const id = '01933b6e-7c1a-7e0a-8f35-00000000000a'
const sentAt = 1_764_000_000_000
const event = {
  specversion: '1.0',
  id,
  source: 'https://portal.example',
  type: 'transfer.completed',
  time: '2025-11-24T16:00:00.000Z',
  subject: id,
  datacontenttype: 'application/json',
  data: { remark: '送金 ✓' },
}
const payload = JSON.stringify(event)

/** The headers that the official library signs. */
function headersOf(body = payload, { secrets = [secret], at = sentAt } = {}): Record<string, string> {
  const signatures = secrets.map((each) => new Webhook(each).sign(id, new Date(at), body))
  return {
    'webhook-id': id,
    'webhook-timestamp': String(at / 1_000),
    'webhook-signature': signatures.join(' '),
  }
}
const now = { now: () => sentAt }

const codeOf = async (result: Promise<unknown>): Promise<WebhookErrorCode | undefined> =>
  result.then(
    () => undefined,
    ({ code }) => code,
  )

describe('verifyWebhook', () => {
  test('returns the event that the official library has signed, as text and as bytes', async () => {
    const bytes = new TextEncoder().encode(payload)
    for (const body of [payload, bytes, bytes.buffer, Buffer.from(payload)])
      expect(await verifyWebhook(body, headersOf(), secret, now)).toEqual(event)
  })

  test('accepts the vector of the specification: only its payload is not an event', async () => {
    const headers = {
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    }
    const options = { now: () => 1_614_265_330_000 }
    const verify = (body: string) => codeOf(verifyWebhook(body, headers, secret, options))
    expect(await verify('{"test": 2432232314}')).toBe('WEBHOOK.PAYLOAD_INVALID')
    expect(await verify('{"test": 2432232315}')).toBe('WEBHOOK.SIGNATURE_INVALID')
  })

  test('reads the headers of fetch, and those of Node in any case', async () => {
    const headers = headersOf()
    const upper = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]))
    for (const each of [new Headers(headers), upper, { ...headers, 'set-cookie': ['a', 'b'], other: undefined }])
      expect(await verifyWebhook(payload, each, secret, now)).toEqual(event)
  })

  test('accepts either secret while one is rotated, of one and of two signatures', async () => {
    const both = [otherSecret, secret]
    for (const secrets of [[secret], [otherSecret], both])
      expect(await verifyWebhook(payload, headersOf(payload, { secrets }), both, now)).toEqual(event)
    const ofBoth = headersOf(payload, { secrets: both })
    for (const known of both) expect(await verifyWebhook(payload, ofBoth, known, now)).toEqual(event)
    expect(await codeOf(verifyWebhook(payload, headersOf(), otherSecret, now))).toBe('WEBHOOK.SIGNATURE_INVALID')
  })

  test('ignores signatures of other versions, and rejects what is none', async () => {
    const { 'webhook-signature': signature = '' } = headersOf()
    const withSignature = (text: string) => ({ ...headersOf(), 'webhook-signature': text })
    expect(await verifyWebhook(payload, withSignature(`v1a,AAAA v2,xx ${signature}`), secret, now)).toEqual(event)
    const value = signature.slice(3)
    for (const text of [value, `v1a,${value}`, `v1,${value.slice(0, -4)}`, 'v1,', 'v1,§', 'v1,AAAA', `v1,${value},`])
      expect([text, await codeOf(verifyWebhook(payload, withSignature(text), secret, now))]).toEqual([
        text,
        'WEBHOOK.SIGNATURE_INVALID',
      ])
  })

  test.each([
    ['payload', payload.replace('completed', 'cancelled'), {}],
    ['parsed and written payload', JSON.stringify(event, null, 1), {}],
    ['id', payload, { 'webhook-id': `${id}0` }],
    ['timestamp', payload, { 'webhook-timestamp': String(sentAt / 1_000 + 1) }],
  ])('rejects another %s than the signed one', async (_, body, changed) => {
    expect(await codeOf(verifyWebhook(body, { ...headersOf(), ...changed }, secret, now))).toBe(
      'WEBHOOK.SIGNATURE_INVALID',
    )
  })

  test.each([
    [300_000, undefined],
    [300_001, 'WEBHOOK.TIMESTAMP_TOO_OLD'],
    [-300_000, undefined],
    [-300_001, 'WEBHOOK.TIMESTAMP_TOO_NEW'],
  ])('a request that is %s ms old: %s', async (age, code) => {
    expect(await codeOf(verifyWebhook(payload, headersOf(), secret, { now: () => sentAt + age }))).toBe(code)
  })

  test('has another tolerance on demand, and the clock of the process by default', async () => {
    const later = { now: () => sentAt + 2_000 }
    expect(await codeOf(verifyWebhook(payload, headersOf(), secret, { ...later, toleranceMs: 1_000 }))).toBe(
      'WEBHOOK.TIMESTAMP_TOO_OLD',
    )
    expect(await codeOf(verifyWebhook(payload, headersOf(), secret))).toBe('WEBHOOK.TIMESTAMP_TOO_OLD')
    const at = Math.floor(Date.now() / 1_000) * 1_000
    expect(await verifyWebhook(payload, headersOf(payload, { at }), secret)).toEqual(event)
    await expect(verifyWebhook(payload, headersOf(), secret, { toleranceMs: Number.NaN })).rejects.toThrow(TypeError)
  })

  test('a signed timestamp that is not a number of seconds is invalid', async () => {
    const sign = (timestamp: string) => {
      const date = Object.assign(new Date(sentAt), { getTime: () => Number(timestamp) * 1_000 })
      return new Webhook(secret).sign(id, date, payload)
    }
    const headers = { ...headersOf(), 'webhook-timestamp': 'NaN', 'webhook-signature': sign('NaN') }
    expect(await codeOf(verifyWebhook(payload, headers, secret, now))).toBe('WEBHOOK.TIMESTAMP_INVALID')
  })

  test.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'])('names the missing header %s', async (name) => {
    const without = Object.fromEntries(Object.entries(headersOf()).filter(([each]) => each !== name))
    for (const headers of [
      without,
      new Headers(without),
      { ...without, [name]: '' },
      { ...without, [name]: ['a', 'b'] },
    ])
      await expect(verifyWebhook(payload, headers, secret, now)).rejects.toMatchObject({
        name: 'WebhookError',
        code: 'WEBHOOK.HEADER_MISSING',
        message: expect.stringContaining(name),
      })
  })

  test.each(['', 'null', '[]', '{"specversion":"1.0"}', '{', '{"id":"a","type":"b","data":{}}'])(
    'a signed body %j is not an event',
    async (body) => {
      expect(await codeOf(verifyWebhook(body, headersOf(body), secret, now))).toBe('WEBHOOK.PAYLOAD_INVALID')
    },
  )

  test('reports a mistake of the receiver as a TypeError, without the secret', async () => {
    const parsed: unknown = event
    await expect(Reflect.apply(verifyWebhook, null, [parsed, headersOf(), secret, now])).rejects.toThrow(
      'payload: pass the raw body',
    )
    await expect(verifyWebhook(payload, headersOf(), [], now)).rejects.toThrow('secrets: pass at least one secret')
    for (const wrong of ['', 'whsec_', 'whsec_s3cr$t'])
      await expect(verifyWebhook(payload, headersOf(), [secret, wrong], now)).rejects.toThrow(
        new TypeError('secrets: a secret is `whsec_` and Base64'),
      )
  })

  test('the type of an event narrows its data', async () => {
    const verified = await verifyWebhook(payload, headersOf(), secret, now)
    expectTypeOf(verified).toEqualTypeOf<PorticoEvent>()
    const statusOf = (event: PorticoEvent) =>
      event.type === 'transfer.completed' ? event.data.transferStatus.code : undefined
    expectTypeOf(statusOf).returns.toEqualTypeOf<
      'PENDING_APPROVAL' | 'PROCESSING' | 'COMPLETED' | 'FAILED' | 'CANCELLED' | 'EXPIRED' | undefined
    >()
    // @ts-expect-error: no such type
    expect(verified.type === 'transfer.exploded').toBe(false)
    expectTypeOf<PorticoEvent<'exchange.completed'>['data']>().toHaveProperty('rate')
  })
})
