import { hash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { uncountedLimit } from '../../../../src/app.ts'
import { listTransfers } from '../../../../src/banking/transfers/contract.ts'
import { createClientResolver } from '../../../../src/gateway/pipeline/client-address.ts'
import { accessCodeStage, offerCheck } from '../../../../src/gateway/pipeline/stages/index.ts'
import { type ChainId, chains } from '../../../../src/kernel/index.ts'
import { refusalOf } from '../../../banking/world.ts'
import { arrivedCall, headersOf } from '../../../harness/call.ts'
import { limitPort } from '../../../harness/limit-port.ts'
import { testSettings } from '../../../harness/settings.ts'

describe('a wrong access code', () => {
  const settings = testSettings({})
  const { portals } = settings
  portals.CONSUMER.accessCodes = [hash('sha256', 'consumer')]
  portals.SYSTEM.accessCodes = [hash('sha256', 'system')]
  portals.SYSTEM.limits = { address: { limit: 1, windowMs: 1_000 } }
  portals.CONSUMER.edge = { kind: 'direct', trustedProxies: ['10.0.0.1'] }
  portals.SYSTEM.edge = { kind: 'direct', trustedProxies: [] }
  const resolveClient = createClientResolver(portals)
  const spentBy = async (chainId: ChainId, code: string, exceeded: string[] = []) => {
    const spent: string[] = []
    const limits = limitPort((name, key) => {
      spent.push(`${name} ${key}`)
      return { allowed: !exceeded.includes(key), limit: 9, remaining: 5, resetMs: 1_000 }
    })
    const headers = headersOf({ 'x-portal-access-code': code, 'x-forwarded-for': '192.0.2.1' })
    const call = arrivedCall(listTransfers, { chainId, headers, peer: '10.0.0.1' })
    const refusal = await refusalOf((async () => accessCodeStage(portals, resolveClient, offerCheck([]))(call))())
    if (refusal === 'none') return [refusal, spent]
    const limited = await refusalOf((async () => uncountedLimit({ settings, limits })(call))())
    return [limited === 'none' ? refusal : limited, spent]
  }

  test('403 ACCESS.PORTAL_MISMATCH spends the address limit of its chain; a right code spends nothing', async () => {
    expect(await spentBy('consumer', 'system')).toEqual(['ACCESS.PORTAL_MISMATCH', ['address 192.0.2.1']])
    expect(await spentBy('system', 'wrong')).toEqual(['ACCESS.PORTAL_MISMATCH', ['address SYSTEM:10.0.0.1']])
    expect(await spentBy('system', 'system')).toEqual(['none', []])
  })

  test('429 ACCESS.RATE_LIMITED once the address limit is exceeded', async () => {
    expect((await spentBy('consumer', 'wrong', ['192.0.2.1']))[0]).toBe('ACCESS.RATE_LIMITED')
  })

  test('on the chain of both portals it spends every address limit, even after one of them refused', async () => {
    const spent = ['address SYSTEM:10.0.0.1', 'address 192.0.2.1']
    expect(await spentBy('shared', 'wrong')).toEqual(['ACCESS.PORTAL_MISMATCH', spent])
    for (const key of ['SYSTEM:10.0.0.1', '192.0.2.1'])
      expect(await spentBy('shared', 'wrong', [key])).toEqual(['ACCESS.RATE_LIMITED', spent])
  })
})

describe('a request that matches no operation', () => {
  const settings = testSettings({})
  settings.portals.SYSTEM.limits = { address: { limit: 1, windowMs: 1_000 } }
  settings.portals.CONSUMER.edge = { kind: 'cloudflare', trustedProxies: ['10.0.0.1'] }
  settings.portals.SYSTEM.edge = { kind: 'direct', trustedProxies: ['10.0.0.2'] }
  const headers = { 'cf-connecting-ip': '203.0.113.1', 'x-forwarded-for': '203.0.113.2' }

  test.each([
    ['consumer', '10.0.0.1', 'address 203.0.113.1'],
    ['self', '10.0.0.1', 'address 203.0.113.1'],
    ['api', '10.0.0.1', 'address 203.0.113.1'],
    ['system', '10.0.0.2', 'address SYSTEM:203.0.113.2'],
    ['system', '10.0.0.1', 'address SYSTEM:10.0.0.1'],
    ['consumer', '192.0.2.1', 'address 192.0.2.1'],
  ] as const)('on %s from %s spends %s', async (chainId, peer, bucket) => {
    const spent: string[] = []
    const spend = (name: string, key: string) => {
      spent.push(`${name} ${key}`)
      return { allowed: false, limit: 2, remaining: 0, resetMs: 1_000 }
    }
    const limit = uncountedLimit({
      settings,
      limits: limitPort(spend),
    })
    const chain = chains[chainId]
    const request = { chainId, chain, peer, headers: headersOf(headers), edgeTrusted: false, clientIp: '', limit: null }
    expect(await refusalOf((async () => limit(request))())).toBe('ACCESS.RATE_LIMITED')
    expect(spent).toEqual([bucket])
    expect(request.limit).toMatchObject({ name: 'address', remaining: 0 })
  })
})
