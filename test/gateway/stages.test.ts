import { hash } from 'node:crypto'
import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { pipeline } from '../../src/app.ts'
import { initiateLogin } from '../../src/contract/auth.ts'
import { createRole } from '../../src/contract/roles.ts'
import { createTransfer, listTransfers } from '../../src/contract/transfers.ts'
import { Call } from '../../src/gateway/call.ts'
import { Headers } from '../../src/gateway/headers.ts'
import { stages } from '../../src/gateway/stages/index.ts'
import { type Caller, type ChainId, instantOf, type Operation, type Portal, Refusal } from '../../src/kernel/index.ts'
import { systemIds } from '../../src/platform/system/index.ts'
import { refusalOf } from '../domains/world.ts'
import { testSettings } from '../harness/settings.ts'

const callOf = (
  operation: Operation,
  chainId: ChainId,
  headers: Record<string, string> = {},
  rawHeaders = Object.entries(headers).flat(),
): Call =>
  new Call({
    operation,
    chainId,
    params: {},
    method: operation.method,
    path: operation.path,
    query: '',
    headers: new Headers({ headers, rawHeaders }),
    peer: '127.0.0.1',
    body: Readable.from([]),
    receivedAt: instantOf(0),
    requestId: 'one',
  })

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
    limits: { spend: never, addressKey: never },
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
    const limits = { spend, addressKey: (address: string) => address }
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
    ] as const) {
      const call = from('192.0.2.1', 'CONSUMER', operation)
      call.caller = by
      expect(await counted('callerLimit', call)).toEqual([`${group}-account ${by.accountId}`])
    }
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
    callOf(listTransfers, 'consumer', { [name]: first }, [name, first, name, second])

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
