import { describe, expect, test } from 'vitest'
import { createTransfer, listTransfers } from '../../../../src/domains/transfers/contract.ts'
import type { Call } from '../../../../src/gateway/pipeline/call.ts'
import { Headers } from '../../../../src/gateway/pipeline/headers.ts'
import type { SpendResult } from '../../../../src/gateway/pipeline/ports.ts'
import { addressLimitStage, callerLimitStage } from '../../../../src/gateway/pipeline/stages/index.ts'
import { initiateLogin } from '../../../../src/identity/login/contract.ts'
import { sendStepUpCode } from '../../../../src/identity/mfa/contract.ts'
import type { Caller, ChainId, Operation, Portal } from '../../../../src/kernel/index.ts'
import { systemIds } from '../../../../src/platform/runtime/index.ts'
import { refusalOf } from '../../../domains/world.ts'
import { arrivedCall } from '../../../harness/call.ts'
import { testSettings } from '../../../harness/settings.ts'

const callOf = (operation: Operation, chainId: ChainId): Call => arrivedCall(operation, { chainId })

const caller = (portal: Portal): Caller => ({
  accountId: systemIds.next<'account'>(),
  portal,
  sessionId: null,
  apiKeyId: null,
  steppedUpAt: null,
  permissions: new Set(),
})

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
    return [await refusalOf((async () => addressLimitStage(limits, settings)(call))()), spent]
  }

  test('count address, network and all clients; a refusal spends no wider limit', async () => {
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

describe('the key of a limit', () => {
  const settings = testSettings({})
  settings.portals.SYSTEM.limits = { address: { limit: 1, windowMs: 1_000 } }
  const counted = async (stage: 'addressLimit' | 'callerLimit', call: Call): Promise<string[]> => {
    const spent: string[] = []
    const spend = (name: string, key: string) => {
      spent.push(`${name} ${key}`)
      return { allowed: true, limit: 2, remaining: 1, resetMs: 0 }
    }
    const limits = { spend, addressKey: (address: string) => address, networkKey: (address: string) => address }
    const build = stage === 'addressLimit' ? addressLimitStage : callerLimitStage
    await build(limits, settings)(call)
    return spent
  }
  const from = (clientIp: string, portal: Portal | null, operation: Operation = listTransfers): Call => {
    const call = callOf(operation, portal === 'SYSTEM' ? 'system' : 'consumer')
    call.portal = portal
    call.clientIp = clientIp
    return call
  }

  test('general address limit: one key for all portals, except one with its own limit', async () => {
    expect(await counted('addressLimit', from('192.0.2.1', 'CONSUMER'))).toEqual(['address 192.0.2.1'])
    expect(await counted('addressLimit', from('192.0.2.1', null))).toEqual(['address 192.0.2.1'])
    expect(await counted('addressLimit', from('192.0.2.1', 'SYSTEM'))).toEqual(['address SYSTEM:192.0.2.1'])
  })

  test('group address limit: by group, portal and address', async () => {
    for (const portal of ['CONSUMER', 'SYSTEM'] as const) {
      const [, group] = await counted('addressLimit', from('192.0.2.1', portal, initiateLogin))
      expect(group).toBe(`login-address ${portal}:192.0.2.1`)
    }
  })

  test('caller limit: by group and account, regardless of the address', async () => {
    const by = caller('CONSUMER')
    for (const [operation, group] of [
      [listTransfers, 'general'],
      [createTransfer, 'money'],
      [initiateLogin, 'general'],
      [sendStepUpCode, 'general'],
    ] as const) {
      const call = from('192.0.2.1', 'CONSUMER', operation)
      call.caller = by
      expect(await counted('callerLimit', call)).toEqual([`${group}-account ${by.accountId}`])
    }
  })

  test("API keys of an account share a key, separate from the owner's", async () => {
    const by = caller('CONSUMER')
    for (const apiKeyId of [systemIds.next<'apiKey'>(), systemIds.next<'apiKey'>()]) {
      const call = from('192.0.2.1', 'CONSUMER', createTransfer)
      call.caller = { ...by, apiKeyId }
      expect(await counted('callerLimit', call)).toEqual([`money-account ${by.accountId}:keys`])
    }
  })

  test("caller limit: by the rule of the caller's own portal on any chain", async () => {
    const at = testSettings({})
    at.portals.SYSTEM.limits = { groups: { money: { account: { limit: 7, windowMs: 1_000 } } } }
    const rules: number[] = []
    const spend = (_name: string, _key: string, { limit }: { limit: number }) => {
      rules.push(limit)
      return { allowed: true, limit, remaining: 1, resetMs: 0 }
    }
    const stage = callerLimitStage({ spend, addressKey: (address) => address, networkKey: (address) => address }, at)
    for (const portal of ['CONSUMER', 'SYSTEM'] as const) {
      const call = callOf(createTransfer, 'self')
      call.caller = caller(portal)
      await stage(call)
    }
    expect(rules).toEqual([at.limits.groups.money?.account?.limit, 7])
  })
})

describe('the limit of the RateLimit headers', () => {
  const settings = testSettings({})
  settings.limits.groups = { ...settings.limits.groups, login: { address: { limit: 9, windowMs: 2_000 } } }
  const reportedLimit = async (address: Partial<SpendResult>, group: Partial<SpendResult>) => {
    const spent = { allowed: true, limit: 9, remaining: 5, resetMs: 1_000 }
    const spend = (name: string) => ({ ...spent, ...(name === 'address' ? address : group) })
    const call = callOf(initiateLogin, 'consumer')
    const stage = addressLimitStage({ spend, addressKey: (each) => each, networkKey: (each) => each }, settings)
    return [await refusalOf((async () => stage(call))()), call.limit?.name, call.limit?.remaining]
  }

  test('is the one with the fewest remaining requests, the first of equal ones', async () => {
    expect(await reportedLimit({ remaining: 3 }, { remaining: 4 })).toEqual(['none', 'address', 3])
    expect(await reportedLimit({ remaining: 4 }, { remaining: 3 })).toEqual(['none', 'login-address', 3])
    expect(await reportedLimit({ remaining: 3 }, { remaining: 3 })).toEqual(['none', 'address', 3])
  })

  test('is the refusing one even if another is used up, too', async () => {
    const exceeded = { allowed: false, remaining: 0 }
    expect(await reportedLimit({ remaining: 0 }, exceeded)).toEqual(['ACCESS.RATE_LIMITED', 'login-address', 0])
    expect(await reportedLimit(exceeded, {})).toEqual(['ACCESS.RATE_LIMITED', 'address', 0])
    expect(await reportedLimit({ remaining: 0 }, {})).toEqual(['none', 'address', 0])
  })
})
