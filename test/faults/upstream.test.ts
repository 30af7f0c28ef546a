import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startConfigured } from '../harness/configured.ts'
import type { Directory } from '../harness/prepared.ts'
import type { PorticoProcess } from '../harness/process.ts'
import { type RawUpstream, startRawUpstream } from '../harness/raw-upstream.ts'
import { seededDirectory } from '../harness/template.ts'
import { createClient, sendRequest, signedIn, type User } from './client.ts'

/** Sends half of the announced body and closes the connection. */
const halfAnAnswer =
  'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 4000\r\n\r\n{"success":true,"data":["secret of the upstream"'

describe('an upstream dies during the body', () => {
  let gateway: PorticoProcess
  let upstream: RawUpstream
  let user: User
  let store: Directory

  beforeAll(async () => {
    store = await seededDirectory()
    upstream = await startRawUpstream((socket) => socket.write(halfAnAnswer, () => socket.destroy()))
    const backends = { profile: { url: upstream.url }, constants: { url: upstream.url } }
    const variables = { PORTICO_DATA_DIR: store.directory, PORTICO_RATE_LIMIT_SCALE: '1000', LOG_LEVEL: 'fatal' }
    gateway = await startConfigured(variables, { backends })
    user = await signedIn(createClient(() => [gateway]))
  })
  afterAll(async () => {
    await gateway?.stop()
    await upstream?.close()
    await store?.remove()
  })

  test('502 with nothing of its body; a GET is tried twice at most, a POST once', async () => {
    const read = await sendRequest(user, 'GET', '/constants/timezones')
    expect([read.status, read.body.code]).toEqual([502, 'SYSTEM.UPSTREAM_INVALID_RESPONSE'])
    expect(read.text).not.toContain('secret')
    expect(upstream.requests()).toBeLessThanOrEqual(2)
    const before = upstream.requests()
    const written = await sendRequest(user, 'POST', '/profile/update', { body: { accountName: 'New name' } })
    expect([written.status, written.text.includes('secret')]).toEqual([502, false])
    expect(upstream.requests()).toBe(before + 1)
  })

  test('the gateway serves everything else meanwhile, and ends in good order', async () => {
    expect((await sendRequest(user, 'GET', '/wallets')).status).toBe(200)
    expect(await gateway.stop()).toBe(0)
  })
})
