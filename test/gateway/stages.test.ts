import { hash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { pipeline } from '../../src/app.ts'
import { createRole } from '../../src/domains/roles/contract.ts'
import { createTransfer, listTransfers } from '../../src/domains/transfers/contract.ts'
import type { Call } from '../../src/gateway/call.ts'
import { Headers } from '../../src/gateway/headers.ts'
import type { Credential, Spent } from '../../src/gateway/ports.ts'
import { stages } from '../../src/gateway/stages/index.ts'
import { initiateLogin } from '../../src/identity/login/contract.ts'
import { generateBackupCodes, sendStepUpCode } from '../../src/identity/mfa/contract.ts'
import { type Caller, type ChainId, type Operation, type Portal, Refusal } from '../../src/kernel/index.ts'
import { systemIds } from '../../src/platform/runtime/index.ts'
import { refusalOf } from '../domains/world.ts'
import { arrivedCall } from '../harness/call.ts'
import { testSettings } from '../harness/settings.ts'

const callOf = (
  operation: Operation,
  chainId: ChainId,
  headers: Record<string, string> = {},
  rawHeaders = Object.entries(headers).flat(),
): Call => arrivedCall(operation, { chainId, headers: new Headers({ headers, rawHeaders }) })

const caller = (portal: Portal): Caller => ({
  accountId: systemIds.next<'account'>(),
  portal,
  sessionId: null,
  apiKeyId: null,
  steppedUpAt: null,
  permissions: new Set(),
})

test('the stages come in their order: who calls, and what they may do, is judged before a body is read', () => {
  const never = () => {
    throw new Error('no request comes')
  }
  const way = pipeline({
    settings: testSettings({}),
    limits: { spend: never, addressKey: never, networkKey: never },
    channel: { open: never, sealer: never },
    authentication: { accessToken: never, apiKey: never },
    access: { enter: never, changed: never },
    backends: { backendOf: never, replace: never, close: never },
    tracing: null,
  })
  expect(Object.keys(way)).toEqual([
    'edge',
    'portalAccessCode',
    'addressLimit',
    'requiredHeaders',
    'clientHash',
    'authenticate',
    'workspace',
    'permission',
    'callerLimit',
    'body',
    'secureChannel',
    'validate',
    'idempotency',
    'serve',
  ])
})

describe('what a limit counts by', () => {
  const settings = testSettings({})
  settings.portals.SYSTEM.limits = { address: { limit: 1, windowMs: 1_000 } }
  const counted = async (stage: 'addressLimit' | 'callerLimit', call: Call): Promise<string[]> => {
    const spent: string[] = []
    const spend = (name: string, key: string) => {
      spent.push(`${name} ${key}`)
      return { allowed: true, limit: 2, remaining: 1, resetMs: 0 }
    }
    const limits = { spend, addressKey: (address: string) => address, networkKey: (address: string) => address }
    await stages[stage](limits, settings)(call)
    return spent
  }
  const from = (clientIp: string, portal: Portal | null, operation: Operation = listTransfers): Call => {
    const call = callOf(operation, portal === 'SYSTEM' ? 'system' : 'consumer')
    call.portal = portal
    call.clientIp = clientIp
    return call
  }

  test('an address overall: one count for all portals, but for the one that has a limit of its own', async () => {
    expect(await counted('addressLimit', from('192.0.2.1', 'CONSUMER'))).toEqual(['address 192.0.2.1'])
    expect(await counted('addressLimit', from('192.0.2.1', null))).toEqual(['address 192.0.2.1'])
    expect(await counted('addressLimit', from('192.0.2.1', 'SYSTEM'))).toEqual(['address SYSTEM:192.0.2.1'])
  })

  test('an address in a group: by group, portal and address', async () => {
    for (const portal of ['CONSUMER', 'SYSTEM'] as const) {
      const [, group] = await counted('addressLimit', from('192.0.2.1', portal, initiateLogin))
      expect(group).toBe(`login-address ${portal}:192.0.2.1`)
    }
  })

  test('a caller: by group and account, from wherever they call', async () => {
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

  test('an account’s API keys: together, and apart from its owner, who has to be able to end them', async () => {
    const by = caller('CONSUMER')
    for (const apiKeyId of [systemIds.next<'apiKey'>(), systemIds.next<'apiKey'>()]) {
      const call = from('192.0.2.1', 'CONSUMER', createTransfer)
      call.caller = { ...by, apiKeyId }
      expect(await counted('callerLimit', call)).toEqual([`money-account ${by.accountId}:keys`])
    }
  })

  test('a caller: by the rule of their own portal, whichever chain they come by', async () => {
    const at = testSettings({})
    at.portals.SYSTEM.limits = { groups: { money: { account: { limit: 7, windowMs: 1_000 } } } }
    const rules: number[] = []
    const spend = (_name: string, _key: string, { limit }: { limit: number }) => {
      rules.push(limit)
      return { allowed: true, limit, remaining: 1, resetMs: 0 }
    }
    const stage = stages.callerLimit({ spend, addressKey: (address) => address, networkKey: (address) => address }, at)
    for (const portal of ['CONSUMER', 'SYSTEM'] as const) {
      const call = callOf(createTransfer, 'self')
      call.caller = caller(portal)
      await stage(call)
    }
    expect(rules).toEqual([at.limits.groups.money?.account?.limit, 7])
  })
})

describe('what an answer tells of limits', () => {
  const settings = testSettings({})
  settings.limits.groups = { ...settings.limits.groups, login: { address: { limit: 9, windowMs: 2_000 } } }
  const told = async (address: Partial<Spent>, group: Partial<Spent>) => {
    const spent = { allowed: true, limit: 9, remaining: 5, resetMs: 1_000 }
    const spend = (name: string) => ({ ...spent, ...(name === 'address' ? address : group) })
    const call = callOf(initiateLogin, 'consumer')
    const stage = stages.addressLimit({ spend, addressKey: (each) => each, networkKey: (each) => each }, settings)
    return [await refusalOf((async () => stage(call))()), call.limit?.name, call.limit?.remaining]
  }

  test('is the one with the least left, of two alike the first', async () => {
    expect(await told({ remaining: 3 }, { remaining: 4 })).toEqual(['none', 'address', 3])
    expect(await told({ remaining: 4 }, { remaining: 3 })).toEqual(['none', 'login-address', 3])
    expect(await told({ remaining: 3 }, { remaining: 3 })).toEqual(['none', 'address', 3])
  })

  test('is the one that refuses, wherever nothing is left either; the last of all is still served', async () => {
    const over = { allowed: false, remaining: 0 }
    expect(await told({ remaining: 0 }, over)).toEqual(['ACCESS.RATE_LIMITED', 'login-address', 0])
    expect(await told(over, {})).toEqual(['ACCESS.RATE_LIMITED', 'address', 0])
    expect(await told({ remaining: 0 }, {})).toEqual(['none', 'address', 0])
  })
})

describe('on the second chain', () => {
  test('transfers.create 400 without X-Request-Id: an id of ours would let it happen twice', async () => {
    const ask = async (headers: Record<string, string>) => stages.idempotency(callOf(createTransfer, 'api', headers))
    expect(await refusalOf(ask({}))).toBe('VALIDATION.INVALID_PARAMETER')
    expect(await refusalOf(ask({ 'x-request-id': 'one' }))).toBe('none')
  })

  test('transfers.list 403 with a key of one workspace that names another one', async () => {
    const own = { id: systemIds.next<'workspace'>(), isOwner: false, permissions: new Set<never>() }
    const enter = stages.workspace({ enter: async () => own })
    const ask = async (named: string) => {
      const call = callOf(listTransfers, 'api', { 'x-workspace-id': named })
      call.caller = caller('CONSUMER')
      call.workspace = own
      await enter(call)
    }
    expect(await refusalOf(ask(systemIds.next()))).toBe('ACCESS.PERMISSION_DENIED')
    expect(await refusalOf(ask(own.id.toUpperCase()))).toBe('none')
  })
})

describe('what is named twice, and might be read by the first or by the last', () => {
  const twice = (name: string, first: string, second: string): Call =>
    callOf(listTransfers, 'consumer', { [name]: first }, [name, first, name.toUpperCase(), second])

  test('400 VALIDATION.INVALID_PARAMETER for two client hashes', async () => {
    const ask = async () => stages.clientHash(twice('x-client-hash', 'one', 'two'))
    expect(await refusalOf(ask())).toBe('VALIDATION.INVALID_PARAMETER')
  })

  test('401 ACCESS.TOKEN_INVALID for two tokens', async () => {
    const accessToken = async () => caller('CONSUMER')
    const stage = stages.authenticate({ accessToken, apiKey: () => undefined }, () => undefined)
    const ask = async (second: string) => stage(twice('authorization', 'Bearer one', second))
    expect(await refusalOf(ask('Bearer two'))).toBe('ACCESS.TOKEN_INVALID')
  })

  test('403 ACCESS.PORTAL_MISMATCH for two access codes', async () => {
    const { portals } = testSettings({})
    portals.CONSUMER.accessCodes = [hash('sha256', 'good')]
    const stage = stages.portalAccessCode(portals, () => undefined)
    const ask = async (call: Call) => stage(call)
    const name = 'x-portal-access-code'
    expect(await refusalOf(ask(callOf(listTransfers, 'consumer', { [name]: 'good' })))).toBe('none')
    expect(await refusalOf(ask(twice(name, 'good', 'other')))).toBe('ACCESS.PORTAL_MISMATCH')
  })
})

test('roles.create that fails half-way lets no rights be remembered either', async () => {
  let forgotten = 0
  const memory = { changed: async () => void forgotten++ }
  const stage = stages.forgettingRights(memory, () => Promise.reject(new Refusal('SYSTEM.UNAVAILABLE')))
  expect(await refusalOf((async () => stage(callOf(createRole, 'consumer')))())).toBe('SYSTEM.UNAVAILABLE')
  expect(forgotten).toBe(1)
})

test('roles.create is answered once no replica goes on by the rights of before', async () => {
  const order: string[] = []
  const changed = async () => {
    await setImmediate()
    order.push('forgotten everywhere')
  }
  await stages.forgettingRights({ changed }, async () => undefined)(callOf(createRole, 'consumer'))
  order.push('answered')
  expect(order).toEqual(['forgotten everywhere', 'answered'])
})

test('a command is the same in whatever order its fields stand, and another one at another place', async () => {
  const hashOf = async (body: object, params: Record<string, string> = {}) => {
    const call = callOf(createTransfer, 'consumer', { 'x-request-id': 'one' })
    Object.assign(call, { params, input: { query: {}, body } })
    await stages.idempotency(call)
    return call.idempotency?.bodyHash
  }
  const one = await hashOf({ a: 1, b: { c: 2, d: 3 } })
  expect(await hashOf({ b: { d: 3, c: 2 }, a: 1 })).toBe(one)
  expect(await hashOf({ a: 1, b: { c: 2, d: 4 } })).not.toBe(one)
  expect(await hashOf({ a: 1, b: { c: 2, d: 3 } }, { bizId: 'other' })).not.toBe(one)
})

describe('the fields of a portal', () => {
  const { portals } = testSettings({})
  portals.CONSUMER.edge = { kind: 'cloudflare', trustedProxies: [] }
  portals.SYSTEM.edge = { kind: 'direct', trustedProxies: [] }
  const demanded = stages.requiredHeaders(portals)
  const good = {
    'x-request-id': 'one',
    'x-locale': 'en',
    'x-forwarded-proto': 'https',
    'cf-connecting-ip': '203.0.113.9',
    'cf-ray': 'ray',
    'cf-ipcountry': 'jp',
  }
  const ask = async (headers: Record<string, string>, chainId: ChainId = 'consumer', edgeTrusted = true) => {
    const call = callOf(listTransfers, chainId, { ...good, ...headers })
    Object.assign(call, { portal: chainId === 'system' ? 'SYSTEM' : 'CONSUMER', edgeTrusted })
    const refused = await refusalOf((async () => demanded(call))())
    return refused === 'none' ? call.country : refused
  }
  const invalid = 'VALIDATION.INVALID_PARAMETER'

  test.each([
    ['x-request-id', 'a'.repeat(128), 'a'.repeat(129)],
    ['x-request-id', '!~', 'a b'],
    ['x-locale', 'a'.repeat(64), 'a'.repeat(65)],
    ['x-forwarded-proto', 'https', 'http'],
    ['cf-ray', 'a'.repeat(64), 'a'.repeat(65)],
    ['cf-ipcountry', 't1', 'jpn'],
    ['cf-connecting-ip', '2001:db8::1', `2001:db8::1%${'a'.repeat(64)}`],
  ])('%s is as it may be at the most, and no more: %s, %s', async (name, most, more) => {
    expect(await ask({ [name]: most })).not.toBe(invalid)
    expect(await ask({ [name]: more })).toBe(invalid)
  })

  test('a country is in capitals, whoever wrote it', async () => expect(await ask({})).toBe('JP'))

  test('what an edge alone can say is believed of no other peer; without Cloudflare only the scheme is asked for', async () => {
    expect(await ask({}, 'consumer', false)).toBe(invalid)
    expect(await ask({}, 'system', false)).toBe('XX')
    expect(await ask({ 'x-forwarded-proto': 'http' }, 'system', false)).toBe(invalid)
  })

  test('the first field that counts as absent is the one that is named', async () => {
    const named = async (portal: Portal) => {
      const call = callOf(listTransfers, portal === 'SYSTEM' ? 'system' : 'consumer', good)
      Object.assign(call, { portal, edgeTrusted: false })
      return (async () => demanded(call))().catch((error: unknown) => error)
    }
    expect(await named('CONSUMER')).toMatchObject({ code: invalid, detail: { field: 'x-forwarded-proto' } })
    expect(await named('SYSTEM')).toBeUndefined()
  })

  test('a machine needs no request id, and one that it sends is one', async () => {
    const sent = async (headers: Record<string, string>) => demanded(callOf(listTransfers, 'api', headers))
    expect(await refusalOf(sent({}))).toBe('none')
    expect(await refusalOf(sent({ 'x-request-id': 'a'.repeat(128) }))).toBe('none')
    expect(await refusalOf(sent({ 'x-request-id': 'a b' }))).toBe(invalid)
  })

  test('a client hash is one of 256 visible characters at most, which machines may do without', async () => {
    const hashOf = async (chainId: ChainId, headers: Record<string, string>) => {
      const call = callOf(listTransfers, chainId, headers)
      const refused = await refusalOf((async () => stages.clientHash(call))())
      return refused === 'none' ? call.clientHash : refused
    }
    for (const chainId of ['consumer', 'api'] as const) {
      expect(await hashOf(chainId, { 'x-client-hash': 'a'.repeat(256) })).toBe('a'.repeat(256))
      expect(await hashOf(chainId, { 'x-client-hash': 'a'.repeat(257) })).toBe(invalid)
      expect(await hashOf(chainId, { 'x-client-hash': 'a b' })).toBe(invalid)
    }
    expect(await hashOf('consumer', {})).toBe(invalid)
    expect(await hashOf('api', {})).toBe('')
  })
})

test('of what a client calls itself 512 characters are kept', async () => {
  const call = callOf(listTransfers, 'consumer', { 'user-agent': `${'a'.repeat(512)}b` })
  await stages.edge(() => undefined)(call)
  expect(call.userAgent).toBe('a'.repeat(512))
})

describe('who calls', () => {
  const seen: Credential[] = []
  const authentication = {
    accessToken: (credential: Credential) => {
      seen.push(credential)
      return caller('SYSTEM')
    },
    apiKey: () => undefined,
  }
  const stage = stages.authenticate(authentication, (call, portal) => {
    call.clientIp = `of ${portal}`
  })
  const ask = async (authorization: string, operation: Operation = listTransfers, chainId: ChainId = 'system') => {
    const call = callOf(operation, chainId, { authorization })
    Object.assign(call, { portal: chainId === 'self' ? null : 'SYSTEM', clientHash: 'hash', clientIp: '203.0.113.9' })
    const refused = await refusalOf((async () => stage(call))())
    return { refused, call, credential: seen.pop() }
  }

  test('the scheme is the same in capitals, and all behind it is the token', async () => {
    for (const scheme of ['Bearer', 'bearer', 'BEARER'])
      expect((await ask(`${scheme}  a b`)).credential).toEqual({
        token: 'a b',
        portal: 'SYSTEM',
        clientHash: 'hash',
        clientIp: '203.0.113.9',
        anew: false,
      })
    for (const none of ['', 'Bearer', 'Bearer ', 'Basic a', 'Bearera', 'Basic Bearer a'])
      expect((await ask(none)).refused).toBe('ACCESS.TOKEN_MISSING')
  })

  test('an API key is one on the second chain alone', async () => {
    let asked = 0
    const apiKey = (): undefined => void asked++
    const byKey = stages.authenticate({ ...authentication, apiKey }, () => undefined)
    for (const [chainId, times] of [
      ['consumer', 0],
      ['self', 0],
      ['api', 1],
    ] as const) {
      await byKey(callOf(listTransfers, chainId, { authorization: 'Bearer a' }))
      expect([chainId, asked]).toEqual([chainId, times])
    }
  })

  test('a session is looked at anew where a second factor is asked for', async () => {
    expect((await ask('Bearer a', generateBackupCodes)).credential?.anew).toBe(true)
  })

  test('a call that is judged again brings when it came, for its token to have been good then', async () => {
    const { call, credential } = await ask('Bearer a')
    expect(credential?.cameAt).toBeUndefined()
    await stage(call)
    expect(seen.pop()?.cameAt).toBe(call.receivedAt)
  })

  test('on the chain of both portals the token says which one it is, and that one’s edge where the client is', async () => {
    const { call, credential } = await ask('Bearer a', listTransfers, 'self')
    expect([call.portal, credential?.portal, credential?.clientIpAt?.('SYSTEM')]).toEqual(['SYSTEM', null, 'of SYSTEM'])
    expect(call.clientIp).toBe('of SYSTEM')
  })
})
