import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { listCountries } from '../../../src/banking/constants/contract.ts'
import { listTransfers } from '../../../src/banking/transfers/contract.ts'
import type { Call } from '../../../src/gateway/pipeline/call.ts'
import { type OpenStreamPorts, OpenStreams, recheckMs } from '../../../src/gateway/pipeline/open-streams.ts'
import { workspaceStage } from '../../../src/gateway/pipeline/stages/index.ts'
import { type Caller, type Permission, Refusal, type WorkspaceId } from '../../../src/kernel/index.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { arrivedCall } from '../../harness/call.ts'
import { createMovableDurations } from '../../harness/durations.ts'

const settings: OpenStreamPorts['settings'] = {
  maxPerAccount: 1,
  maxPerAddress: 1,
  idleTimeoutMs: 60_000,
  maxLifetimeMs: 60_000,
  maxBufferedBytes: 65_536,
}

function createStreams({ maxOpen = 3, ...change }: Partial<OpenStreamPorts['settings']> & { maxOpen?: number } = {}) {
  const events: string[] = []
  const durations = createMovableDurations()
  const streams = new OpenStreams({
    settings: { ...settings, ...change },
    maxOpen,
    addressKey: (address) => address,
    durations,
    metrics: {
      changeOpen: (_operation, by) => void events.push(`open ${by}`),
      countEnd: (_operation, reason) => void events.push(reason),
      countRefused: () => void events.push('refused'),
    },
  })
  return { streams, durations, events }
}

function callOf(caller: Partial<Caller> | null, clientIp = '203.0.113.7'): Call {
  const call = arrivedCall(listCountries)
  call.clientIp = clientIp
  if (caller)
    call.caller = {
      accountId: systemIds.next<'account'>(),
      portal: 'CONSUMER',
      sessionId: systemIds.next<'session'>(),
      apiKeyId: null,
      steppedUpAt: null,
      permissions: new Set(),
      ...caller,
    }
  return call
}

const watch = { checkCaller: async () => undefined, close: () => undefined }
function codeOf(open: () => unknown): string {
  try {
    open()
    return 'opened'
  } catch (error) {
    if (error instanceof Refusal) return error.code
    throw error
  }
}

test('accounts, API keys and anonymous addresses are counted separately, and released once', () => {
  const { streams, events } = createStreams({ maxOpen: 100 })
  const accountId = systemIds.next<'account'>()
  const first = streams.open(callOf({ accountId }), watch)
  expect(codeOf(() => streams.open(callOf({ accountId }), watch))).toBe('ACCESS.RATE_LIMITED')
  expect(codeOf(() => streams.open(callOf({ accountId, apiKeyId: 'k' }), watch))).toBe('opened')
  expect(codeOf(() => streams.open(callOf(null), watch))).toBe('opened')
  expect(codeOf(() => streams.open(callOf(null), watch))).toBe('ACCESS.RATE_LIMITED')
  expect(codeOf(() => streams.open(callOf(null, '203.0.113.8'), watch))).toBe('opened')
  first.release('client')
  first.release('service')
  expect(codeOf(() => streams.open(callOf({ accountId }), watch))).toBe('opened')
  expect(codeOf(() => streams.open(callOf({ accountId }), watch))).toBe('ACCESS.RATE_LIMITED')
  expect(events.filter((each) => each === 'client' || each === 'service')).toEqual(['client'])
  streams.close()
})

test('a full replica, and one that shuts down, refuse with SYSTEM.UNAVAILABLE', () => {
  const { streams } = createStreams()
  for (const _ of [1, 2, 3]) streams.open(callOf({}), watch)
  expect(codeOf(() => streams.open(callOf({}), watch))).toBe('SYSTEM.UNAVAILABLE')
  const closing = createStreams().streams
  closing.close()
  expect(codeOf(() => closing.open(callOf({}), watch))).toBe('SYSTEM.UNAVAILABLE')
  streams.close()
})

test.each([
  ['revoked', new Refusal('ACCESS.TOKEN_INVALID')],
  ['unavailable', new Refusal('SYSTEM.UNAVAILABLE')],
  ['unavailable', new Error('the store does not respond')],
])('a check that fails closes the stream: %s for %s', async (reason, error) => {
  const { streams } = createStreams()
  const call = callOf({})
  const closed = Promise.withResolvers<void>()
  const checkCaller = () => Promise.reject(error)
  const stream = streams.open(call, { checkCaller, close: () => closed.resolve() })
  await closed.promise
  expect(call.streamEnd).toBe(reason)
  stream.release('client')
  expect(call.streamEnd).toBe(reason)
})

test('a caller that loses its access is noticed at the next check', async () => {
  const { streams, durations } = createStreams()
  durations.stop()
  const call = callOf({})
  let hasAccess = true
  const checkCaller = async () => {
    if (!hasAccess) throw new Refusal('ACCESS.TOKEN_INVALID')
  }
  streams.open(call, { checkCaller, close: () => undefined })
  const ends = []
  for (const access of [true, false]) {
    hasAccess = access
    durations.skip(recheckMs)
    await turn()
    ends.push(call.streamEnd)
  }
  expect(ends).toEqual([null, 'revoked'])
  streams.close()
})

test('bytes keep a stream open, and a check that takes long is not repeated', () => {
  const { streams, durations } = createStreams({ idleTimeoutMs: 400 })
  durations.stop()
  const call = callOf({})
  let checks = 0
  const checkCaller = () => {
    checks += 1
    return new Promise<void>(() => undefined)
  }
  const stream = streams.open(call, { checkCaller, close: () => stream.release('client') })
  for (let step = 0; step < 8; step += 1) {
    durations.skip(399)
    stream.touch()
  }
  expect([call.streamEnd, checks]).toEqual([null, 1])
  durations.skip(400 + recheckMs)
  expect(call.streamEnd).toBe('idle')
})

test('a check stays in the workspace of the stream, although the default workspace has changed', async () => {
  const own = { id: systemIds.next<'workspace'>(), isOwner: false, permissions: new Set<never>() }
  const stayed: string[] = []
  const stay = async (_: Caller, id: WorkspaceId) => {
    stayed.push(id)
    return own
  }
  const other = async () => ({ ...own, id: systemIds.next<'workspace'>() })
  const call = arrivedCall(listTransfers)
  Object.assign(call, { caller: callOf({}).caller, workspace: own, isStreamOpen: true })
  await workspaceStage({ enter: other, stay, identify: other })(call)
  expect([call.workspace, stayed]).toEqual([own, [own.id]])
})

test('a stream ends with `rights` when the permissions of its caller change', async () => {
  const { streams, durations } = createStreams()
  durations.stop()
  const call = callOf({})
  const access = (...codes: Permission[]) => ({
    id: systemIds.next<'workspace'>(),
    isOwner: false,
    permissions: new Set(codes),
  })
  call.workspace = access('wallet:read')
  const found = [access('wallet:read'), access('wallet:read', 'role:read')]
  const checkCaller = async (checked: Call) => {
    checked.workspace = found.shift() ?? checked.workspace
  }
  streams.open(call, { checkCaller, close: () => undefined })
  const ends = []
  for (const _ of [1, 2]) {
    durations.skip(recheckMs)
    await turn()
    ends.push(call.streamEnd)
  }
  expect(ends).toEqual([null, 'rights'])
  streams.close()
})

test('all streams share one timer, which ends with the last of them', () => {
  const { streams, durations } = createStreams({ maxOpen: 100 })
  const idle = durations.timers()
  const open = [1, 2, 3].map(() => streams.open(callOf({}), watch))
  expect(durations.timers() - idle).toBe(1)
  for (const stream of open) stream.release('client')
  expect(durations.timers()).toBe(idle)
})
