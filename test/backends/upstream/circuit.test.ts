import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type Caller, Circuit } from '../../../src/backends/upstream/circuit.ts'
import type { CircuitChange } from '../../../src/backends/upstream/metrics.ts'
import { brokenReply, invalidReply, UnreachableRefusal } from '../../../src/backends/upstream/reply.ts'
import { clientDisconnected } from '../../../src/gateway/pipeline/call.ts'
import { bizId, type Refusal } from '../../../src/kernel/index.ts'
import { systemDurations } from '../../../src/platform/runtime/index.ts'
import { refusalOf } from '../../banking/world.ts'

const openMs = 5_000

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

let circuit: Circuit
let changes: CircuitChange[]
beforeEach(() => {
  changes = []
  circuit = new Circuit({ failures: 5, openMs }, systemDurations, (change) => changes.push(change))
})

function at(clientIp: string): Caller {
  return { caller: null, clientIp }
}
function accountAt(last: number, clientIp: string): Caller {
  const accountId = bizId<'account'>(`01990000-0000-7000-8000-00000000000${last}`)
  const ids = { accountId, portal: 'CONSUMER', sessionId: null, apiKeyId: null, steppedUpAt: null } as const
  return { caller: { ...ids, permissions: new Set() }, clientIp }
}
const [member, other, third] = [at('192.0.2.1'), at('198.51.100.2'), at('203.0.113.3')]

function unreachable() {
  return new UnreachableRefusal('SYSTEM.UPSTREAM_TIMEOUT', {})
}
/** `none`, the refusal's code, or `open` without an attempt. */
async function run(caller: Caller, refusal?: Refusal): Promise<string> {
  let isTried = false
  const outcome = await refusalOf(
    circuit.run(caller, async () => {
      isTried = true
      if (refusal) throw refusal
    }),
  )
  return isTried ? outcome : 'open'
}
async function repeat(times: number, caller: Caller, refusal?: Refusal) {
  for (let index = 0; index < times; index++) await run(caller, refusal)
}
async function openIt() {
  await repeat(4, member, unreachable())
  await run(other, unreachable())
  expect(circuit.state).toBe(2)
}

describe('a circuit opens', () => {
  test('after the minimum of failures of two callers, not earlier', async () => {
    await repeat(3, member, unreachable())
    await run(other, unreachable())
    expect([circuit.state, changes]).toEqual([0, []])
    await run(member, unreachable())
    expect([circuit.state, changes]).toEqual([2, [{ isOpen: true, failures: 5, callers: 2 }]])
    expect(await run(third)).toBe('open')
  })

  test.each<[string, Caller[]]>([
    ['one anonymous address', [member]],
    ['addresses of one IPv6 /48', [at('2001:db8::1'), at('2001:db8:0:4200::1'), at('2001:db8:0:ffff::9')]],
    ['addresses of one IPv4 /24', [at('192.0.2.1'), at('192.0.2.99'), at('192.0.2.255')]],
    ['one account at many addresses', [accountAt(1, '192.0.2.1'), accountAt(1, '192.0.2.2')]],
    ['an account and an anonymous request of its address', [accountAt(1, '192.0.2.1'), at('192.0.2.1')]],
  ])('never for %s alone', async (_name, callers) => {
    for (const caller of callers) await repeat(50, caller, unreachable())
    expect(circuit.state).toBe(0)
  })

  test.each<[string, [Caller, Caller]]>([
    ['two accounts at one address', [accountAt(1, '192.0.2.1'), accountAt(2, '192.0.2.1')]],
    ['an account and another network', [accountAt(1, '192.0.2.1'), at('198.51.100.9')]],
    ['two networks', [at('2001:db8::1'), at('2001:db8:1::1')]],
  ])('for %s', async (_name, [one, two]) => {
    await repeat(4, one, unreachable())
    await run(two, unreachable())
    expect(circuit.state).toBe(2)
  })

  test('not while most other callers get replies, however often one caller fails', async () => {
    for (const bystander of [other, third]) await repeat(9, bystander)
    await repeat(500, member, unreachable())
    await run(other, unreachable())
    await repeat(5, member, unreachable())
    expect(circuit.state).toBe(0)
  })

  test.each<[string, Refusal]>([
    ['a complete reply, even an invalid one', invalidReply('status 401')],
    ['a reply that breaks off', brokenReply('reply broke off')],
    ['a client that disconnects', clientDisconnected()],
  ])('not for %s', async (_name, refusal) => {
    for (const caller of [member, other, third]) await repeat(20, caller, refusal)
    expect(circuit.state).toBe(0)
  })

  test('not for failures that are older than the window', async () => {
    await repeat(4, member, unreachable())
    vi.advanceTimersByTime(10_000)
    await run(other, unreachable())
    expect(circuit.state).toBe(0)
    vi.advanceTimersByTime(4_000)
    await repeat(4, member, unreachable())
    expect(circuit.state).toBe(2)
  })
})

describe('an open circuit', () => {
  test('rejects every call until openMs has passed', async () => {
    await openIt()
    vi.advanceTimersByTime(openMs - 1)
    expect([await run(third), circuit.state]).toEqual(['open', 2])
    vi.advanceTimersByTime(1)
    expect(circuit.state).toBe(1)
    expect([await run(third), circuit.state]).toEqual(['none', 0])
    expect(changes.at(-1)).toMatchObject({ isOpen: false })
  })

  test('closes after a complete reply of any kind', async () => {
    await openIt()
    vi.advanceTimersByTime(openMs)
    expect(await run(third, invalidReply('status 500'))).toBe('SYSTEM.UPSTREAM_INVALID_RESPONSE')
    expect(circuit.state).toBe(0)
  })

  test('admits one further probe a second while one is slow', async () => {
    await openIt()
    vi.advanceTimersByTime(openMs)
    const slow = Promise.withResolvers<void>()
    const probe = refusalOf(circuit.run(member, () => slow.promise))
    expect(await run(other)).toBe('open')
    vi.advanceTimersByTime(1_000)
    expect([await run(other), circuit.state]).toEqual(['none', 0])
    slow.reject(unreachable())
    expect([await probe, circuit.state]).toEqual(['SYSTEM.UPSTREAM_TIMEOUT', 0])
  })

  test('a caller whose probes always fail uses one of them, and cannot keep the circuit open', async () => {
    await openIt()
    vi.advanceTimersByTime(openMs)
    expect(await run(member, unreachable())).toBe('SYSTEM.UPSTREAM_TIMEOUT')
    vi.advanceTimersByTime(1_000)
    expect(await run(member, unreachable())).toBe('open')
    expect([await run(other), circuit.state]).toEqual(['none', 0])
  })

  test('its only caller probes again after openMs', async () => {
    await openIt()
    for (let index = 0; index < 3; index++) {
      vi.advanceTimersByTime(openMs)
      expect(await run(member, unreachable())).toBe('SYSTEM.UPSTREAM_TIMEOUT')
    }
    vi.advanceTimersByTime(openMs)
    expect([await run(member), circuit.state]).toEqual(['none', 0])
  })

  test('an attempt from before it opened keeps its result and does not affect the state', async () => {
    const old = Promise.withResolvers<string>()
    const outcome = circuit.run(third, () => old.promise)
    await openIt()
    old.resolve('late')
    expect([await outcome, circuit.state]).toEqual(['late', 2])
  })

  test('starts with an empty window once it has closed', async () => {
    await openIt()
    vi.advanceTimersByTime(openMs)
    await run(third)
    await repeat(3, member, unreachable())
    await run(other, unreachable())
    expect(circuit.state).toBe(0)
  })
})

test('503 SYSTEM.UNAVAILABLE of an open circuit: Retry-After is the time until its next test', async () => {
  await openIt()
  const refused = () => circuit.run(third, () => expect.fail()).catch(({ detail }: Refusal) => detail.retryAfter)
  expect(await refused()).toBe(5)
  vi.advanceTimersByTime(openMs - 1_500)
  expect(await refused()).toBe(2)
})
