import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { listTimezones } from '../../../src/banking/constants/contract.ts'
import { arrivedCall } from '../../harness/call.ts'
import { json, startRawUpstream } from '../../harness/raw-upstream.ts'
import { upstreamAt } from '../../harness/settings.ts'
import { openUpstream } from '../../harness/upstream.ts'

test('the header X-Total-Estimated of a service marks the call', async () => {
  let behave: (socket: Socket) => void = () => undefined
  const service = await startRawUpstream((socket) => behave(socket))
  const upstream = openUpstream(upstreamAt(service.url, {}))
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
