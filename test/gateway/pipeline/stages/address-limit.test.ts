import { hash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { unmatchedLimit } from '../../../../src/app.ts'
import { listTransfers } from '../../../../src/banking/transfers/contract.ts'
import { accessCodeStage } from '../../../../src/gateway/pipeline/stages/index.ts'
import { type ChainId, type Portal, rateLimited } from '../../../../src/kernel/index.ts'
import { refusalOf } from '../../../banking/world.ts'
import { arrivedCall, headersOf } from '../../../harness/call.ts'
import { limitPort } from '../../../harness/limit-port.ts'
import { testSettings } from '../../../harness/settings.ts'

describe('a wrong access code', () => {
  const { portals } = testSettings({})
  portals.CONSUMER.accessCodes = [hash('sha256', 'consumer')]
  portals.SYSTEM.accessCodes = [hash('sha256', 'system')]
  portals.SYSTEM.limits = { address: { limit: 1, windowMs: 1_000 } }
  const spentBy = async (chainId: ChainId, code: string, exceeded: (Portal | null)[] = []) => {
    const spent: string[] = []
    const resolveClient = (request: { clientIp: string }, portal: Portal) => {
      request.clientIp = `by ${portal}`
    }
    const stage = accessCodeStage(portals, resolveClient, async ({ clientIp }, portal) => {
      spent.push(`${portal} ${clientIp}`)
      if (exceeded.includes(portal)) throw rateLimited(1_000, 'limit address')
    })
    const call = arrivedCall(listTransfers, { chainId, headers: headersOf({ 'x-portal-access-code': code }) })
    return [await refusalOf((async () => stage(call))()), spent]
  }

  test('403 ACCESS.PORTAL_MISMATCH spends the address limit of its chain; a right code spends nothing', async () => {
    expect(await spentBy('consumer', 'system')).toEqual(['ACCESS.PORTAL_MISMATCH', ['CONSUMER by CONSUMER']])
    expect(await spentBy('system', 'wrong')).toEqual(['ACCESS.PORTAL_MISMATCH', ['SYSTEM by SYSTEM']])
    expect(await spentBy('system', 'system')).toEqual(['none', []])
  })

  test('429 ACCESS.RATE_LIMITED once the address limit is exceeded', async () => {
    expect((await spentBy('consumer', 'wrong', ['CONSUMER']))[0]).toBe('ACCESS.RATE_LIMITED')
  })

  test('on the chain of both portals it spends every address limit, even after one of them refused', async () => {
    const spent = ['SYSTEM by SYSTEM', 'null by CONSUMER']
    expect(await spentBy('shared', 'wrong')).toEqual(['ACCESS.PORTAL_MISMATCH', spent])
    for (const portal of ['SYSTEM', null] as const)
      expect(await spentBy('shared', 'wrong', [portal])).toEqual(['ACCESS.RATE_LIMITED', spent])
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
    ['shared', '10.0.0.1', 'address 203.0.113.1'],
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
    const limit = unmatchedLimit({
      settings,
      limits: limitPort(spend),
    })
    const request = { chainId, peer, headers: headersOf(headers), edgeTrusted: false, clientIp: '', limit: null }
    expect(await refusalOf((async () => limit(request))())).toBe('ACCESS.RATE_LIMITED')
    expect(spent).toEqual([bucket])
    expect(request.limit).toMatchObject({ name: 'address', remaining: 0 })
  })
})
