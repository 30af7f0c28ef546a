import { afterEach, expect, test, vi } from 'vitest'
import { listWallets } from '../../src/banking/wallets/contract.ts'
import { checkDeployment } from '../../src/conformance/index.ts'

afterEach(() => vi.unstubAllGlobals())

test.each([true, false])(
  'checkDeployment: x-request-id is required, unless an edge may set it: %s',
  async (edgeHeaders) => {
    vi.stubGlobal('fetch', async () => Response.json({ success: false, code: 'ACCESS.TOKEN_MISSING', message: '' }))
    const accessCodes = { CONSUMER: 'code' }
    const target = { url: 'http://edge.test', accessCodes, edgeHeaders, requestId: () => 'one', pause: async () => {} }
    const results = await checkDeployment(target, [listWallets], () => {})
    const names = results.map(({ check }) => check)
    expect(names.includes('x-request-id is required')).toBe(edgeHeaders)
    expect(names).toContain('x-locale is required')
  },
)
