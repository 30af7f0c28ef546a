import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Upstream } from '../../../src/backends/upstream/upstream.ts'
import { createRole } from '../../../src/banking/roles/contract.ts'
import type { Operation } from '../../../src/kernel/index.ts'
import { refusalOf } from '../../banking/world.ts'
import { arrivedCall } from '../../harness/call.ts'
import { json, type RawUpstream, startRawUpstream } from '../../harness/raw-upstream.ts'
import { upstreamAt } from '../../harness/settings.ts'
import { openUpstream } from '../../harness/upstream.ts'

const hooked: Operation = { ...createRole, before: ['limits', 'guard'] }

describe('a command with hooks, of a domain that a service serves', () => {
  let service: RawUpstream
  let upstream: Upstream
  let received = ''
  let reply = ''
  beforeAll(async () => {
    service = await startRawUpstream((socket, request) => {
      received = request
      socket.write(reply)
    })
    upstream = openUpstream(upstreamAt(service.url, {}))
  })
  afterAll(async () => {
    await upstream.close()
    await service.close()
  })
  const outcome = (text: string, operation = hooked) => {
    reply = text
    return refusalOf(upstream.handle(arrivedCall(operation)))
  }

  test.each([
    ['limits,guard', 'none'],
    ['guard,limits', 'none'],
    ['limits', 'SYSTEM.UPSTREAM_INVALID_RESPONSE'],
    ['', 'SYSTEM.UPSTREAM_INVALID_RESPONSE'],
  ])('a success whose X-Portico-Hooks is `%s`: %s', async (hooks, code) => {
    expect(await outcome(json('null', '200 OK', { ...(hooks && { 'x-portico-hooks': hooks }) }))).toBe(code)
    expect(received).toMatch(/^x-portico-hooks: limits,guard\r$/im)
  })

  test('a command without hooks sends no header, and needs none', async () => {
    expect(await outcome(json('null'), createRole)).toBe('none')
    expect(received).not.toMatch(/x-portico-hooks/i)
  })
})
