import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ChannelSessions } from '../../../src/identity/secure-channel/channel-sessions.ts'
import { addMs, toInstant } from '../../../src/kernel/index.ts'
import type { Cache } from '../../../src/platform/cache/index.ts'
import type { SecretBox } from '../../../src/platform/crypto/index.ts'
import { defaultSettings, type Harness, harness, refusalOf } from '../harness.ts'

let at: Harness
beforeAll(async () => {
  at = await harness()
})
afterAll(() => at.close())

const settings = defaultSettings().secureChannel
const owner = { portal: 'CONSUMER', clientHash: 'client-one' } as const

test('a channel session expires even if the cache retains its window', async () => {
  const { cache } = at.ports
  const joinGroup: Cache['joinGroup'] = (group, options) => cache.joinGroup(group, { ...options, ttl: 24 * 3_600_000 })
  const ports = { ...at.ports, cache: { ...cache, joinGroup } }
  const sessions = new ChannelSessions(ports, settings)
  const { sessionId } = await sessions.open(owner, randomBytes(32))
  at.clock.advance(1_799_999)
  expect(sessions.read(sessionId, owner)?.key).toHaveLength(32)
  at.clock.advance(1)
  expect(sessions.read(sessionId, owner)).toBeUndefined()
})

describe('the limit of channel sessions', () => {
  const limited = () => new ChannelSessions(at.ports, { ...settings, maxSessions: 62 })

  test('secureChannel.open 429: 62 sessions of 30 minutes allow two per minute', async () => {
    const sessions = limited()
    at.clock.set(addMs(toInstant(Math.ceil(at.clock.now() / 60_000) * 60_000), 120_000))
    for (let minute = 0; minute < 3; minute += 1) {
      for (let count = 0; count < 2; count += 1) await sessions.open(owner, randomBytes(32))
      at.clock.advance(15_000)
      const refused = await refusalOf(sessions.open(owner, randomBytes(32)))
      expect([refused.code, refused.detail.retryAfter]).toEqual(['ACCESS.RATE_LIMITED', 45])
      await sessions.open({ ...owner, portal: 'SYSTEM' }, randomBytes(32))
      at.clock.advance(45_000)
    }
  })
})

describe('the key of a channel session', () => {
  test('is decrypted once and returned to its owner only', async () => {
    let unsealed = 0
    const open: SecretBox['open'] = (...sealed) => {
      const plaintext = at.ports.secretBox.open(...sealed)
      unsealed += 1
      return plaintext
    }
    const sessions = new ChannelSessions({ ...at.ports, secretBox: { ...at.ports.secretBox, open } }, settings)
    const key = randomBytes(32)
    const { sessionId } = await sessions.open(owner, key)
    for (let round = 0; round < 3; round++) {
      expect(sessions.read(sessionId, { ...owner, clientHash: 'thief' })).toBeUndefined()
      expect(sessions.read(sessionId, { ...owner, portal: 'SYSTEM' })).toBeUndefined()
      expect(unsealed).toBe(round === 0 ? 0 : 1)
      expect(Buffer.from(sessions.read(sessionId, owner)?.key ?? []).equals(key)).toBe(true)
    }
    expect(unsealed).toBe(1)
  })

  test('is cached as a copy, without the buffer pool', async () => {
    const sessions = new ChannelSessions(at.ports, settings)
    const { sessionId } = await sessions.open(owner, randomBytes(32))
    expect(sessions.read(sessionId, owner)?.key.buffer.byteLength).toBe(32)
  })

  test('is rejected immediately after another replica has closed the session', async () => {
    const [here, there] = [new ChannelSessions(at.ports, settings), new ChannelSessions(at.ports, settings)]
    const { sessionId } = await here.open(owner, randomBytes(32))
    const session = here.read(sessionId, owner)
    if (!session) throw new Error('no session')
    expect(await here.isOpen(session)).toBe(true)
    await there.close(sessionId, owner)
    expect([await here.isOpen(session), await here.spend(session, 1)]).toEqual([false, false])
  })
})
