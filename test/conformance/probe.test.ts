import { afterEach, expect, test, vi } from 'vitest'
import { listWallets } from '../../src/banking/wallets/contract.ts'
import { probe } from '../../src/conformance/probe.ts'
import { chains } from '../../src/kernel/index.ts'

afterEach(() => vi.unstubAllGlobals())

test('a target whose rate limit does not clear is retried for two minutes, then reported as limited', async () => {
  let requests = 0
  vi.stubGlobal('fetch', async () => {
    requests += 1
    if (requests > 10) throw new Error('too many requests')
    const refusal = { success: false, code: 'ACCESS.RATE_LIMITED', message: '' }
    return Response.json(refusal, { status: 429, headers: { 'retry-after': '50' } })
  })
  let waited = 0
  const pause = async (milliseconds: number): Promise<void> => {
    waited += milliseconds
  }
  const target = { url: 'http://limits.test', accessCodes: {}, edgeHeaders: false, requestId: () => 'one', pause }
  expect(await probe(target, listWallets, { chainId: 'consumer', chain: chains.consumer }, {})).toBeNull()
  expect(waited).toBe(100_000)
})
