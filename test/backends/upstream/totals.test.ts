import type { Socket } from 'node:net'
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { createUpstreamMetrics } from '../../../src/backends/index.ts'
import { createUpstream } from '../../../src/backends/upstream/upstream.ts'
import { listTimezones } from '../../../src/banking/constants/contract.ts'
import { isCode } from '../../../src/contract/index.ts'
import { arrivedCall } from '../../harness/call.ts'
import { json, startRawUpstream } from '../../harness/raw-upstream.ts'
import { upstreamAt } from '../../harness/settings.ts'

test('the header X-Total-Estimated of a service marks the call', async () => {
  let behave: (socket: Socket) => void = () => undefined
  const service = await startRawUpstream((socket) => behave(socket))
  const metrics = createUpstreamMetrics(new Registry())
  const limits = { maxBufferedBytes: 65_536, idleTimeoutMs: 60_000 }
  const upstream = createUpstream(upstreamAt(service.url, {}), async () => 'an assertion', metrics, isCode, limits)
  const marks: boolean[] = []
  for (const value of ['true', 'yes', '']) {
    behave = (socket) => void socket.write(json('a', '200 OK', { 'x-total-estimated': value }))
    const call = arrivedCall(listTimezones)
    await upstream.handle(call)
    marks.push(call.isTotalEstimated)
  }
  expect(marks).toEqual([true, false, false])
  await upstream.close()
  await service.close()
})
