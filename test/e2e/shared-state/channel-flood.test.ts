import { randomBytes } from 'node:crypto'
import { CompactEncrypt, importSPKI } from 'jose'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import type { Configuration } from '../../../src/config/index.ts'
import { type Answer, send } from '../../harness/http.ts'
import { client, data, refusal } from '../../harness/identity.ts'
import { needsStore } from '../../harness/needs.ts'
import { type Portico, startPortico } from '../../harness/portico.ts'
import { startRedis, type TestRedis } from '../../harness/redis.ts'
import { signIn } from '../../harness/sign-in.ts'

const chain = '/web/v1/consumer'
const initiate = `${chain}/auth/login/initiate`
const topology = inject('topology')
/** Fills 4 MB at 600 bytes per session. A single process has no such limit. */
const openings = topology === 'distributed' ? 4_480 : 1_600
const networks = 80
const inParallel = 16
/** Each /56 has counters for all requests, openings and sign-ins. Each minute has one group of windows. */
const maxKeys = 3 * networks + 20

/** 80 /56 networks in one /48. */
function addressOf(count: number): string {
  return `2001:db8:0:${(count % networks).toString(16)}00::1`
}

async function runLimited<T>(count: number, task: (index: number) => Promise<T>): Promise<T[]> {
  const results: T[] = []
  let next = 0
  const work = async () => {
    while (next < count) results.push(await task(next++))
  }
  await Promise.all(Array.from({ length: inParallel }, work))
  return results
}

function tally(values: readonly number[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1
  return counts
}

interface Scene {
  portico: Portico
  redis: TestRedis | undefined
  open(address: string): Promise<Answer>
  /** The body violates the schema, so the response is 400 if the gateway can open it. */
  sendBody(sessionId: string, seq: number, address: string): Promise<Answer>
  keys(): Promise<number>
  /** Statuses other than 200, per replica, of readiness and of a signed-in user's request. */
  faults(): Promise<number[]>
  stop(): Promise<void>
}

/** Replicas on a Redis of 4 MB, or one process with its own memory. */
async function startScene(adjust: (settings: Configuration) => void): Promise<Scene> {
  const redis = topology === 'distributed' ? await startRedis(['--maxmemory', '4mb']) : undefined
  const portico = await startPortico({ ...(redis && { variables: { REDIS_URL: redis.url } }), adjust })
  const { accessToken: token } = await signIn(portico)
  const { keyId, publicKey } = data(await client(portico).get('/secure-channel/public-key'))
  const pem = `-----BEGIN PUBLIC KEY-----\n${publicKey}\n-----END PUBLIC KEY-----`
  const [clientHash, key] = ['flooding-client', new Uint8Array(randomBytes(32))]
  const sealProposal = async (now: number): Promise<string> => {
    const text = { key: Buffer.from(key).toString('base64url'), clientHash, iat: Math.floor(now / 1_000) }
    return new CompactEncrypt(Buffer.from(JSON.stringify(text)))
      .setProtectedHeader({ alg: 'RSA-OAEP-256', enc: 'A256GCM', kid: keyId })
      .encrypt(await importSPKI(pem, 'RSA-OAEP-256'))
  }
  // One payload opens any number of sessions until it is too old. A flood can take longer on a busy machine.
  let proposal = { sealedAt: 0, payload: Promise.resolve('') }
  const currentPayload = (): Promise<string> => {
    const now = Date.now()
    if (now - proposal.sealedAt > 20_000) proposal = { sealedAt: now, payload: sealProposal(now) }
    return proposal.payload
  }
  const headers = { 'x-client-hash': clientHash }
  return {
    portico,
    redis,
    open: async (address) =>
      portico.call('POST', `${chain}/secure-channel/session`, {
        headers: { ...headers, 'cf-connecting-ip': address },
        body: { payload: await currentPayload() },
      }),
    sendBody: async (sessionId, seq, address) => {
      const sealed = await new CompactEncrypt(Buffer.from('[]'))
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', kid: sessionId, seq, htm: 'POST', htu: initiate })
        .encrypt(key)
      return portico.call('POST', initiate, {
        headers: { ...headers, 'cf-connecting-ip': address, 'x-secure-channel-session-id': sessionId },
        body: { payload: sealed },
      })
    },
    keys: async () => Number((await redis?.sendRequest('DBSIZE'))?.slice(1) ?? 0),
    faults: async () => {
      const health = await fetch(`${portico.operationsUrl}/health/ready`)
      const profiles = await Promise.all(portico.urls.map((url) => send(url, 'GET', `${chain}/profile`, { token })))
      return [health.status, ...profiles.map(({ status }) => status)].filter((status) => status !== 200)
    },
    stop: async () => {
      await portico.stop()
      await redis?.stop()
    },
  }
}

/** Also returns errors of signed-in users and readiness. */
async function flood({ open, faults }: Scene) {
  const failures: number[] = []
  const responses = await runLimited(openings, async (count) => {
    if (count % 200 === 0) failures.push(...(await faults()))
    return open(addressOf(count))
  })
  failures.push(...(await faults()))
  return { responses, failures }
}

// The placement of domains does not affect the channel.
describe('a flood of channel openings from one /48', needsStore(), () => {
  let scene: Scene
  beforeAll(async () => {
    scene = await startScene((settings) => {
      settings.limits.scale = 1
    })
  })
  afterAll(() => scene?.stop())

  test('secureChannel.open 429 above 300 per minute: signed-in users get 200 and replicas stay ready', async () => {
    const { responses, failures } = await flood(scene)
    const counts = tally(responses.map(({ status }) => status))
    expect(Object.keys(counts)).toEqual(['200', '429'])
    expect(counts[200]).toBeGreaterThanOrEqual(300)
    // The flood can last into a third minute.
    expect(counts[200]).toBeLessThanOrEqual(900)
    expect(failures).toEqual([])
    expect(await scene.keys()).toBeLessThan(maxKeys)
    const elsewhere = await scene.open('2001:db8:1::1')
    expect(elsewhere.status).toBe(200)
  })
})

describe('a flood of channel openings from many networks', needsStore(), () => {
  let scene: Scene
  let sessions: string[]
  beforeAll(async () => {
    scene = await startScene((settings) => {
      // Other limits are raised to 400 sessions per minute.
      settings.secureChannel.maxSessions = 12_400
    })
  })
  afterAll(() => scene?.stop())

  test('secureChannel.open 429 above maxSessions: an opening stores nothing in Redis', async () => {
    const { responses, failures } = await flood(scene)
    const counts = tally(responses.map(({ status }) => status))
    expect(Object.keys(counts)).toEqual(['200', '429'])
    expect(counts[200]).toBeGreaterThanOrEqual(400)
    expect(counts[200]).toBeLessThanOrEqual(1_200)
    expect(failures).toEqual([])
    expect(await scene.keys()).toBeLessThan(maxKeys)
    sessions = responses.flatMap(({ status, body }) => (status === 200 ? [String(body.data.sessionId)] : []))
  })

  test('auth.loginInitiate: a first body in each session leaves signed-in users and readiness at 200', async () => {
    const responses = await runLimited(sessions.length, (index) =>
      scene.sendBody(sessions[index] ?? '', 256, addressOf(index)),
    )
    expect(new Set(responses.map(({ body }) => body.code))).toEqual(new Set(['VALIDATION.INVALID_PARAMETER']))
    expect(await scene.faults()).toEqual([])
    expect(await scene.keys()).toBeLessThan(maxKeys)
  })

  test('auth.loginInitiate 400 for a replayed body, also after Redis has lost everything', async () => {
    const [used = '', other = ''] = sessions
    const send = (sessionId: string, seq: number) => scene.sendBody(sessionId, seq, addressOf(0))
    const invalid = [400, 'SECURE_CHANNEL.INVALID_PAYLOAD']
    expect(refusal(await send(used, 256))).toEqual(invalid)
    if (!scene.redis) return
    await scene.redis.sendRequest('FLUSHALL')
    for (const each of [await send(used, 256), await send(other, 257)]) expect(refusal(each)).toEqual(invalid)
    const { sessionId } = data(await scene.open(addressOf(0)))
    expect((await send(sessionId, 1)).body.code).toBe('VALIDATION.INVALID_PARAMETER')
  })
})

describe('a flood of invalid channel openings from eleven networks', needsStore(), () => {
  let scene: Scene
  const total = 30
  beforeAll(async () => {
    scene = await startScene((settings) => {
      settings.limits.scale = 1
      const windowMs = 600_000
      settings.limits.groups.channelOpen = {
        ...settings.limits.groups.channelOpen,
        network: { limit: 12, windowMs },
        total: { limit: total, windowMs },
      }
    })
  })
  afterAll(() => scene?.stop())

  const garbage = [
    'x',
    `${Buffer.from('{"alg":"RSA-OAEP-256","enc":"A256GCM","kid":"x"}').toString('base64url')}.a.b.c.d`,
  ]
  const openWith = (payload: string, network: number) =>
    scene.portico.call('POST', `${chain}/secure-channel/session`, {
      headers: { 'x-client-hash': 'flooding-client', 'cf-connecting-ip': `2001:db8:${network}::1` },
      body: { payload },
    })

  test('secureChannel.open 400 SECURE_CHANNEL.INVALID_PAYLOAD: it does not count towards the limit of all', async () => {
    const responses = await runLimited(11 * 12, (index) => openWith(garbage[index % 2] ?? '', index % 11))
    expect(new Set(responses.map(({ body }) => body.code))).toEqual(new Set(['SECURE_CHANNEL.INVALID_PAYLOAD']))
    expect((await openWith('x', 0)).status).toBe(429)
    expect((await scene.open('2001:db8:ff::1')).status).toBe(200)
  })

  test('secureChannel.open 429 ACCESS.RATE_LIMITED: valid openings of all clients count', async () => {
    const responses = await runLimited(total, (index) => scene.open(`2001:db8:${index + 100}::1`))
    const refused = responses.filter(({ status }) => status !== 200)
    expect(refused.map(({ status, body }) => [status, body.code])).toEqual([[429, 'ACCESS.RATE_LIMITED']])
    expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await scene.faults()).toEqual([])
  })
})
