import { describe, expect, test } from 'vitest'
import { Headers } from '../../src/gateway/headers.ts'
import { stages } from '../../src/gateway/stages/index.ts'
import { initiateLogin } from '../../src/identity/login/contract.ts'
import { refusalOf } from '../domains/world.ts'
import { arrivedCall } from '../harness/call.ts'
import { testSettings } from '../harness/settings.ts'

describe('the limits of a group', () => {
  const settings = testSettings({})
  const headers = new Headers({ headers: {}, rawHeaders: [] })
  const rule = { limit: 9, windowMs: 2_000 }
  settings.limits.groups = { ...settings.limits.groups, login: { address: rule, network: rule, total: rule } }
  const spentUntil = async (refusing: string) => {
    const spent: string[] = []
    const spend = async (name: string, key: string) => {
      spent.push(`${name} ${key}`)
      return { allowed: name !== refusing, limit: 9, remaining: 5, resetMs: 1_000 }
    }
    const call = arrivedCall(initiateLogin, { chainId: 'consumer', headers })
    call.portal = 'CONSUMER'
    call.clientIp = '192.0.2.1'
    const limits = { spend, addressKey: (each: string) => each, networkKey: (each: string) => `${each}/24` }
    return [await refusalOf((async () => stages.addressLimit(limits, settings)(call))()), spent]
  }

  test('count an address, its network and all clients; a refusal uses up no wider limit', async () => {
    const all = [
      'address 192.0.2.1',
      'login-address CONSUMER:192.0.2.1',
      'login-network CONSUMER:192.0.2.1/24',
      'login-total CONSUMER',
    ]
    expect(await spentUntil('none')).toEqual(['none', all])
    for (const [index, refusing] of ['address', 'login-address', 'login-network', 'login-total'].entries())
      expect(await spentUntil(refusing)).toEqual(['ACCESS.RATE_LIMITED', all.slice(0, index + 1)])
  })
})
