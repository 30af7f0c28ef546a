import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { developmentIds } from '../../src/seed/development.ts'
import type { Answer } from '../harness/http.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { type Behaviour, json, type RawUpstream, rawResponse, startRawUpstream } from '../harness/raw-upstream.ts'
import { upstreamAt } from '../harness/settings.ts'
import { type Session, signIn } from '../harness/sign-in.ts'

const timezone = { code: 'UTC', label: 'UTC', zoneIdCode: 'Etc/UTC', utcOffset: 'UTC+0', value: 1 }

/** See docs/concepts/backends.md. */
describe('the guards of an upstream', () => {
  let portico: Portico
  let member: Session
  let behave: Behaviour = () => undefined
  let upstream: RawUpstream
  let before = 0

  beforeAll(async () => {
    upstream = await startRawUpstream((socket, request) => behave(socket, request))
    const place = upstreamAt(`${upstream.url}/base`, {
      timeoutMs: 20_000,
      maxReplyBytes: 100_000,
      connections: 8,
      concurrency: 4,
      queue: 2,
      breaker: { failures: 3, openMs: 2_000 },
    })
    const narrow = { ...place, timeoutMs: 1_500, connections: 1, breaker: { failures: 1_000, openMs: 200 } }
    portico = await startPortico({
      adjust: (settings) => {
        settings.backends = { constants: place, files: place, profile: narrow }
      },
    })
    portico.expectFault(() => true)
    member = await signIn(portico)
  })
  beforeEach(() => {
    before = upstream.requests()
  })
  afterEach(() => {
    behave = () => undefined
  })
  afterAll(async () => {
    await portico?.stop()
    await upstream?.close()
  })
  const tries = () => upstream.requests() - before
  const send = (address = '203.0.113.7') =>
    portico.call('GET', '/web/v1/consumer/constants/timezones', { headers: { 'cf-connecting-ip': address } })
  const download = () =>
    portico.call('GET', `/web/v1/consumer/files/${developmentIds.workspace}/download`, { token: member.accessToken })

  const announced = { 'content-type': 'application/json', 'content-length': '100001' }
  test.each<[string, () => Promise<Answer>, string]>([
    ['a Content-Length above the limit', () => send(), rawResponse('200 OK', announced, '')],
    ['a reply above the limit', () => send(), json('x'.repeat(100_000))],
    ['a file above the limit', download, rawResponse('200 OK', { 'content-length': '9999999999' }, '')],
    ['413 without an envelope', () => send(), rawResponse('413 Too Large', { 'content-type': 'text/html' }, 'a page')],
    ['400 with other JSON', () => send(), json({ error: 'of the service' }, '400 Bad Request')],
  ])('%s fails this call only, with 502 and one attempt', async (_name, call, reply) => {
    behave = (socket) => socket.write(reply)
    for (let index = 0; index < 4; index++) expect((await call()).status).toBe(502)
    expect(tries()).toBe(4)
    behave = (socket) => socket.write(json([timezone]))
    expect((await send()).status).toBe(200)
  })

  test('a complete response between two failures, even a refusal, ends the series', async () => {
    const refusal = json({ success: false, code: 'VALIDATION.INVALID_PARAMETER', message: '', data: null }, '400 Bad')
    for (let index = 0; index < 3; index++) {
      behave = (socket) => socket.end('SSH-2.0-OpenSSH\r\n')
      expect((await send()).status).toBe(502)
      behave = (socket) => socket.write(refusal)
      expect((await send()).status).toBe(400)
    }
  })

  test('a request that waits for a connection past its deadline is never sent', async () => {
    behave = () => undefined
    const rename = () =>
      portico.call('POST', '/web/v1/consumer/profile/update', {
        token: member.accessToken,
        body: { accountName: 'New name' },
      })
    const responses = await Promise.all([rename(), rename(), rename()])
    expect(responses.map(({ status }) => status)).toEqual([504, 504, 504])
    // One request can use the connection until its deadline.
    const sent = tries()
    behave = (socket) =>
      socket.write(json({ success: false, code: 'VALIDATION.INVALID_PARAMETER', message: '', data: null }, '400 Bad'))
    expect((await rename()).status).toBe(400)
    expect(tries()).toBe(sent + 1)
  })

  test('the breaker opens after failures of two callers, tries again later, and closes', async () => {
    behave = (socket) => socket.resetAndDestroy()
    // The replies of earlier tests leave the window first.
    const fail = async () => [(await send()).status, (await send('198.51.100.8')).status]
    await expect.poll(fail).toContain(503)
    const reached = upstream.requests()
    const refused = await send()
    expect([refused.status, refused.body.code, refused.headers.get('retry-after')]).toEqual([
      503,
      'SYSTEM.UNAVAILABLE',
      expect.stringMatching(/^[12]$/),
    ])
    expect(upstream.requests()).toBe(reached)
    behave = (socket) => socket.write(json([timezone]))
    await expect.poll(async () => (await send()).status).toBe(200)
  })
})
