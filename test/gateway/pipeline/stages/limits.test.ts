import { describe, expect, test } from 'vitest'
import { createTransfer, listTransfers } from '../../../../src/banking/transfers/contract.ts'
import { type Call, runStages } from '../../../../src/gateway/pipeline/call.ts'
import { Headers } from '../../../../src/gateway/pipeline/headers.ts'
import type { LimitPort, SpendResult } from '../../../../src/gateway/pipeline/ports.ts'
import { addressGuardStage, createUncountedLimit, limitsStage } from '../../../../src/gateway/pipeline/stages/index.ts'
import { initiateLogin } from '../../../../src/identity/login/contract.ts'
import { sendStepUpCode } from '../../../../src/identity/mfa/contract.ts'
import { type Caller, type ChainId, type Operation, type Portal, Refusal } from '../../../../src/kernel/index.ts'
import { systemIds } from '../../../../src/platform/runtime/index.ts'
import { refusalOf } from '../../../banking/world.ts'
import { arrivedCall } from '../../../harness/call.ts'
import { limitPort } from '../../../harness/limit-port.ts'
import { testSettings } from '../../../harness/settings.ts'

function callOf(operation: Operation, chainId: ChainId): Call {
  return arrivedCall(operation, { chainId })
}

function caller(portal: Portal): Caller {
  return {
    accountId: systemIds.next<'account'>(),
    portal,
    sessionId: null,
    apiKeyId: null,
    steppedUpAt: null,
    permissions: new Set(),
  }
}

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
    const stage = limitsStage(limitPort(spend), settings)
    return [await refusalOf((async () => stage(call))()), spent]
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
  const counted = async (call: Call): Promise<string[]> => {
    const spent: string[] = []
    const spend = (name: string, key: string) => {
      spent.push(`${name} ${key}`)
      return { allowed: true, limit: 2, remaining: 1, resetMs: 0 }
    }
    await limitsStage(limitPort(spend), settings)(call)
    return spent
  }
  const from = (clientIp: string, portal: Portal | null, operation: Operation = listTransfers): Call => {
    const call = callOf(operation, portal === 'SYSTEM' ? 'system' : 'consumer')
    call.portal = portal
    call.clientIp = clientIp
    return call
  }

  test('general address limit: one key for all portals, except one with its own limit', async () => {
    expect(await counted(from('192.0.2.1', 'CONSUMER'))).toEqual(['address 192.0.2.1'])
    expect(await counted(from('192.0.2.1', null))).toEqual(['address 192.0.2.1'])
    expect(await counted(from('192.0.2.1', 'SYSTEM'))).toEqual(['address SYSTEM:192.0.2.1'])
  })

  test('group address limit: by group, portal and address', async () => {
    for (const portal of ['CONSUMER', 'SYSTEM'] as const) {
      const [, group] = await counted(from('192.0.2.1', portal, initiateLogin))
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
      expect((await counted(call)).at(-1)).toBe(`${group}-account ${by.accountId}`)
    }
  })

  test("API keys of an account share a key, separate from the owner's", async () => {
    const by = caller('CONSUMER')
    for (const apiKeyId of [systemIds.next<'apiKey'>(), systemIds.next<'apiKey'>()]) {
      const call = from('192.0.2.1', 'CONSUMER', createTransfer)
      call.caller = { ...by, apiKeyId }
      expect((await counted(call)).at(-1)).toBe(`money-account ${by.accountId}:keys`)
    }
  })

  test("caller limit: by the rule of the caller's own portal on any chain", async () => {
    const at = testSettings({})
    at.portals.SYSTEM.limits = { groups: { money: { account: { limit: 7, windowMs: 1_000 } } } }
    const rules: number[] = []
    const spend = (name: string, _key: string, { limit }: { limit: number }) => {
      if (name === 'money-account') rules.push(limit)
      return { allowed: true, limit, remaining: 1, resetMs: 0 }
    }
    const stage = limitsStage(limitPort(spend), at)
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
    const stage = limitsStage(limitPort(spend), settings)
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

describe('the limits of a call', () => {
  const settings = testSettings({})
  /** `refusals` names the stage before `limits`, the guard, or the limits that refuse. */
  const run = async (...refusals: string[]) => {
    const spent: string[][] = []
    const port = limitPort((name) => {
      spent.at(-1)?.push(name)
      return { allowed: !refusals.includes(name), limit: 9, remaining: 5, resetMs: 1_000 }
    })
    const limits: LimitPort = {
      ...port,
      admit: (spend) => ({ ...port.admit(spend), allowed: !refusals.includes('guard') }),
      spendAll: (spends) => {
        spent.push([])
        return port.spendAll(spends)
      },
    }
    const call = callOf(listTransfers, 'consumer')
    call.portal = 'CONSUMER'
    call.clientIp = '192.0.2.1'
    const authenticate = () => {
      if (refusals.includes('token')) throw new Refusal('ACCESS.TOKEN_INVALID')
      call.caller = caller('CONSUMER')
    }
    const stages = [addressGuardStage(limits, settings), authenticate, limitsStage(limits, settings)]
    const refused = await refusalOf(runStages(stages, call))
    const uncounted = createUncountedLimit(limits, settings, () => expect.fail())
    const limited = call.isCounted ? 'none' : await refusalOf((async () => uncounted(call))())
    const code = limited === 'none' ? refused : limited
    return { code, spent, stageIndex: call.stageIndex, limit: call.limit?.name }
  }

  test('are spent together, in one round trip', async () => {
    const spent = [['address', 'general-account']]
    expect(await run()).toEqual({ code: 'none', spent, stageIndex: 3, limit: 'address' })
  })

  test('429 ACCESS.RATE_LIMITED of the address spends nothing of the caller', async () => {
    const refused = { code: 'ACCESS.RATE_LIMITED', stageIndex: 2 }
    expect(await run('address')).toEqual({ ...refused, spent: [['address']], limit: 'address' })
    const spent = [['address', 'general-account']]
    expect(await run('general-account')).toEqual({ ...refused, spent, limit: 'general-account' })
  })

  test('401 before the limits spends those of the address, whose refusal takes precedence', async () => {
    const refused = { spent: [['address']], stageIndex: 1, limit: 'address' }
    expect(await run('token')).toEqual({ ...refused, code: 'ACCESS.TOKEN_INVALID' })
    expect(await run('token', 'address')).toEqual({ ...refused, code: 'ACCESS.RATE_LIMITED' })
  })

  test('429 ACCESS.RATE_LIMITED of the guard: no authentication and no round trip', async () => {
    const refused = { code: 'ACCESS.RATE_LIMITED', spent: [], stageIndex: 0, limit: 'address' }
    expect(await run('guard', 'token')).toEqual(refused)
  })
})
