import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { enableIpWhitelist, readIpWhitelist, replaceIpWhitelist } from '../../../src/identity/ip-whitelist/contract.ts'
import { containsAddress, parseRange } from '../../../src/platform/ip-ranges.ts'
import { call, codeOf, createRequestContext, credential, type Harness, harness, signIn } from '../harness.ts'

let at: Harness
beforeAll(async () => {
  at = await harness()
})
afterAll(() => at.close())

test('a match is written at most once a minute; other replicas apply a change within 1 second', async () => {
  await at.account('white@demo.test')
  const { accessToken } = await signIn(at, 'white@demo.test')
  const other = await at.replica()
  const authenticate = async (clientIp: string, identity = at.identity) =>
    identity.authentication.accessToken({ ...credential(accessToken), clientIp })
  const caller = await authenticate('203.0.113.9')
  await authenticate('203.0.113.9', other)
  const invoke = <O extends Parameters<typeof call>[1]>(operation: O, body?: unknown) =>
    call(at.identity, operation, createRequestContext(at.clock), body, caller)
  await invoke(replaceIpWhitelist, { addresses: ['203.0.113.0/24'] })
  await invoke(enableIpWhitelist, {})
  expect(await codeOf(authenticate('198.51.100.1'))).toBe('ACCESS.IP_NOT_ALLOWED')
  at.clock.advance(1_000)
  expect(await codeOf(authenticate('198.51.100.1', other))).toBe('ACCESS.IP_NOT_ALLOWED')
  const matchedAt = async () => (await invoke(readIpWhitelist)).entries[0]?.lastMatchedAt
  await authenticate('203.0.113.77')
  const first = await matchedAt()
  expect(first).toBe(new Date(at.clock.now()).toISOString())
  for (let request = 0; request < 5; request++) {
    at.clock.advance(10_000)
    await authenticate('203.0.113.77')
    await authenticate('203.0.113.77', other)
  }
  expect(await matchedAt()).toBe(first)
  at.clock.advance(10_000)
  await authenticate('203.0.113.77')
  expect(await matchedAt()).not.toBe(first)
})

test('operations with a step-up use the current whitelist after another replica has replaced it', async () => {
  await at.account('replaced@demo.test')
  const { accessToken } = await signIn(at, 'replaced@demo.test')
  const other = await at.replica()
  const authenticate = (clientIp: string, bypassCache: boolean, identity = other) =>
    identity.authentication.accessToken({ ...credential(accessToken), clientIp, bypassCache })
  const caller = await authenticate('203.0.113.9', false, at.identity)
  const invoke = <O extends Parameters<typeof call>[1]>(operation: O, body: unknown) =>
    call(at.identity, operation, { ...createRequestContext(at.clock), clientIp: '203.0.113.9' }, body, caller)
  await invoke(replaceIpWhitelist, { addresses: ['203.0.113.9', '198.51.100.1'] })
  await invoke(enableIpWhitelist, {})
  expect(await authenticate('198.51.100.1', true)).toMatchObject({ accountId: caller.accountId })
  await invoke(replaceIpWhitelist, { addresses: ['203.0.113.9'] })
  expect(await codeOf((async () => authenticate('198.51.100.1', true))())).toBe('ACCESS.IP_NOT_ALLOWED')
})

test('with a read-only store, the whitelist still allows its addresses and no others', async () => {
  await at.account('full@demo.test')
  const { accessToken } = await signIn(at, 'full@demo.test')
  const authenticate = async (clientIp: string) =>
    at.identity.authentication.accessToken({ ...credential(accessToken), clientIp })
  const caller = await authenticate('203.0.113.9')
  await call(at.identity, replaceIpWhitelist, createRequestContext(at.clock), { addresses: ['203.0.113.0/24'] }, caller)
  await call(at.identity, enableIpWhitelist, createRequestContext(at.clock), {}, caller)
  const writable = (is: boolean) =>
    sql`SET default_transaction_read_only = ${sql.raw(is ? 'off' : 'on')}`.execute(at.ports.database)
  await writable(false)
  try {
    expect(await authenticate('203.0.113.77')).toMatchObject({ accountId: caller.accountId })
    expect(await codeOf(authenticate('198.51.100.1'))).toBe('ACCESS.IP_NOT_ALLOWED')
  } finally {
    await writable(true)
  }
})

test('a range contains exactly the addresses with its prefix', () => {
  const toText = (value: number) => [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join('.')
  const address = fc.integer({ min: 0, max: 0xffff_ffff })
  fc.assert(
    fc.property(address, address, fc.integer({ min: 0, max: 32 }), (network, other, bits) => {
      const mask = bits === 0 ? 0 : (0xffff_ffff << (32 - bits)) >>> 0
      const expected = (network & mask) >>> 0 === (other & mask) >>> 0
      const range = parseRange(`${toText(network)}/${bits}`)
      expect(containsAddress(range, toText(other))).toBe(expected)
      expect(containsAddress(range, `::ffff:${toText(other)}`)).toBe(expected)
      expect(containsAddress(parseRange(`::ffff:${toText(network)}/${bits + 96}`), toText(other))).toBe(expected)
    }),
  )
  for (const text of ['', 'x', '1.2.3.4.5', '203.0.113.1, 10.0.0.1'])
    expect(containsAddress(parseRange('0.0.0.0/0'), text)).toBe(false)
})
