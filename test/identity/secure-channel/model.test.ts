import { createPublicKey, randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { CompactEncrypt, type CompactJWEHeaderParameters, compactDecrypt } from 'jose'
import { afterAll, expect, test } from 'vitest'
import type { Identity } from '../../../src/identity/index.ts'
import * as contract from '../../../src/identity/secure-channel/contract.ts'
import { keyOverlapMs } from '../../../src/identity/secure-channel/key-ring.ts'
import type { Portal } from '../../../src/kernel/index.ts'
import { call, createRequestContext, harness } from '../harness.ts'

const at = await harness()
afterAll(() => at.close())
const { sessionTtlMs } = at.settings.secureChannel
const window = 256
const target = { htm: 'POST', htu: '/web/v1/consumer/auth/login/initiate' }

interface Client {
  portal: Portal
  device: number
}
/** A header member, or a bit of the ciphertext. */
type Flaw = 'none' | 'path' | 'method' | 'kid' | 'algorithm' | 'more' | 'text' | 'bit'
type Command =
  | ({ kind: 'offer' } & Client)
  | ({ kind: 'open'; key: number; delay: number; claimed: number } & Client)
  | ({ kind: 'seal'; session: number; seq: number; flaw: Flaw } & Client)
  | ({ kind: 'send' | 'sealReply' | 'close'; index: number } & Client)
  | { kind: 'wait'; seconds: number }
  | { kind: 'restart' | 'lose' }

interface Session extends Client {
  sessionId: string
  key: Uint8Array
  until: number
  closed: boolean
  highest: number
  seen: Set<number>
}
interface Message {
  session: Session
  seq: number
  flaw: Flaw
  payload: string
}

function pick<T>(list: readonly T[], index: number): T | undefined {
  return list[index % list.length]
}
function clientHash(device: number): string {
  return `device-${device}`
}
function flip(payload: string): string {
  return payload.replace(/.(?=.{20}$)/, (char) => (char === 'A' ? 'B' : 'A'))
}

function headers(sessionId: string, seq: number): Record<Flaw, CompactJWEHeaderParameters> {
  const right = { alg: 'dir', enc: 'A256GCM', kid: sessionId, seq, ...target }
  return {
    none: right,
    bit: right,
    path: { ...right, htu: `${target.htu}/` },
    method: { ...right, htm: 'GET' },
    kid: { ...right, kid: 'A'.repeat(43) },
    algorithm: { ...right, enc: 'A256CBC-HS512' },
    more: { ...right, typ: 'JWE' },
    text: { ...right, seq: String(seq) },
  }
}

async function createWorld() {
  const replicas: Identity[] = [await at.replica(), await at.replica()]
  const keys: { keyId: string; publicKey: string; until: number }[] = []
  const sessions: Session[] = []
  const messages: Message[] = []
  let here = at.identity
  const { clock } = at

  const isOpenFor = ({ portal, device, until, closed }: Session, client: Client): boolean =>
    !closed && clock.now() < until && portal === client.portal && device === client.device
  const requestOf = ({ portal, device }: Client) =>
    createRequestContext(clock, { portal, clientHash: clientHash(device) })

  const offer = async (client: Client): Promise<void> => {
    const { keyId, publicKey, expiresAt } = await call(here, contract.readPublicKey, requestOf(client))
    const until = Date.parse(expiresAt ?? '')
    expect(until - clock.now()).toBeGreaterThan(keyOverlapMs)
    keys.push({ keyId, publicKey, until })
  }
  const open = async ({ key: index, delay, claimed, ...client }: Extract<Command, { kind: 'open' }>): Promise<void> => {
    const offered = pick(keys, index)
    if (!offered) return
    const key = new Uint8Array(randomBytes(32))
    const iat = Math.floor(clock.now() / 1_000) - delay
    const plain = { key: Buffer.from(key).toString('base64url'), clientHash: clientHash(claimed), iat }
    const payload = await new CompactEncrypt(Buffer.from(JSON.stringify(plain)))
      .setProtectedHeader({ alg: 'RSA-OAEP-256', enc: 'A256GCM', kid: offered.keyId })
      .encrypt(createPublicKey({ key: Buffer.from(offered.publicKey, 'base64'), format: 'der', type: 'spki' }))
    const opened = await call(here, contract.openSecureChannel, requestOf(client), { payload }).catch(() => null)
    const isGood = offered.until > clock.now() && Math.abs(delay) <= 60 && claimed === client.device
    expect(opened !== null).toBe(isGood)
    if (!opened) return
    const until = clock.now() + sessionTtlMs
    const { sessionId } = opened
    sessions.push({ ...client, sessionId, key, until, closed: false, highest: 0, seen: new Set() })
  }
  const seal = async ({ session: index, seq: back, flaw }: Extract<Command, { kind: 'seal' }>): Promise<void> => {
    const session = pick(sessions, index)
    if (!session) return
    const seq = session.highest + 1 + back
    const header = headers(session.sessionId, seq)[flaw]
    const by = flaw === 'algorithm' ? randomBytes(64) : session.key
    const payload = await new CompactEncrypt(Buffer.from(`body ${seq}`)).setProtectedHeader(header).encrypt(by)
    messages.push({ session, seq, flaw, payload: flaw === 'bit' ? flip(payload) : payload })
  }
  const send = async (index: number, client: Client): Promise<void> => {
    const message = pick(messages, index)
    if (!message) return
    const { session, seq, flaw, payload } = message
    const { sessionId, seen, key } = session
    const bound = { ...requestOf(client), sessionId, method: target.htm, path: target.htu, payload }
    const opened = await here.channel.open(bound)
    const isNew = seq > 0 && seq > session.highest - window && !seen.has(seq)
    expect(opened !== undefined).toBe(isOpenFor(session, client) && flaw === 'none' && isNew)
    if (!opened) return
    session.highest = Math.max(session.highest, seq)
    seen.add(seq)
    expect(Buffer.from(opened.plaintext).toString()).toBe(`body ${seq}`)
    const { plaintext, protectedHeader } = await compactDecrypt(opened.seal('reply'), key)
    expect(Buffer.from(plaintext).toString()).toBe('reply')
    expect(protectedHeader).toEqual({
      alg: 'dir',
      enc: 'A256GCM',
      kid: sessionId,
      msg: 'reply',
      rid: bound.requestId,
      seq,
    })
  }
  const sealReply = async (session: Session, client: Client): Promise<void> => {
    const seal = await here.channel.sealer({ ...requestOf(client), sessionId: session.sessionId })
    expect(seal !== undefined).toBe(isOpenFor(session, client))
    if (seal) await compactDecrypt(seal('reply'), session.key)
  }
  const close = async (session: Session, client: Client): Promise<void> => {
    const { sessionId } = session
    await call(here, contract.closeSecureChannel, { ...requestOf(client), channelSessionId: sessionId })
    session.closed ||= isOpenFor(session, client)
  }

  return async (command: Command, replica: number): Promise<void> => {
    here = replicas[replica] ?? at.identity
    switch (command.kind) {
      case 'offer':
        return offer(command)
      case 'open':
        return open(command)
      case 'seal':
        return seal(command)
      case 'send':
        return send(command.index, command)
      case 'wait':
        return clock.advance(command.seconds * 1_000)
      case 'restart':
        replicas[replica] = await at.replica()
        return
      case 'lose':
        // As if Redis had restarted.
        await at.ports.cache.close()
        for (const session of sessions) session.closed = true
        return
      default: {
        const session = pick(sessions, command.index)
        if (session) await (command.kind === 'sealReply' ? sealReply : close)(session, command)
      }
    }
  }
}

const client = { portal: fc.constantFrom<Portal[]>('CONSUMER', 'CONSUMER', 'CONSUMER', 'SYSTEM'), device: fc.nat(1) }
const [claimed, key, session, index] = [fc.nat(1), fc.nat(9), fc.nat(9), fc.nat(60)]
const delay = fc.constantFrom(0, 0, 0, 60, -60, 61, -61)
const seq = fc.constantFrom(0, 0, 0, 0, -1, -2, -1, 1, 7, -250, -255, -256, -257, 255, 256, 300)
const flaw = fc.constantFrom<Flaw[]>(
  'none',
  'none',
  'none',
  'none',
  'none',
  'path',
  'method',
  'kid',
  'algorithm',
  'more',
  'text',
  'bit',
)
const seconds = fc.constantFrom(1, 59, 61, 900, 1_799, 1_800, 1_801, 12 * 3_600, 23 * 3_600, 24 * 3_600)
function kind<const K extends string>(name: K) {
  return fc.constant(name)
}
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: kind('offer'), ...client }) },
  { weight: 6, arbitrary: fc.record({ kind: kind('open'), key, delay, claimed, ...client }) },
  { weight: 16, arbitrary: fc.record({ kind: kind('seal'), session, seq, flaw, ...client }) },
  { weight: 24, arbitrary: fc.record({ kind: kind('send'), index, ...client }) },
  { weight: 3, arbitrary: fc.record({ kind: kind('sealReply'), index, ...client }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('close'), index, ...client }) },
  { weight: 2, arbitrary: fc.record({ kind: kind('wait'), seconds }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('restart') }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('lose') }) },
)
const beginning: [Command, number][] = [0, 1].flatMap((device) => [
  [{ kind: 'offer', portal: 'CONSUMER', device }, device],
  [{ kind: 'open', key: device, delay: 0, claimed: device, portal: 'CONSUMER', device }, device],
])
const courses = fc.array(fc.tuple(command, fc.nat(1)), {
  minLength: 60,
  maxLength: 120,
  size: 'max',
})
const seed = Number(process.env.FC_SEED ?? Date.now() % 2 ** 31)

test('any sequence of sessions with reordered, replayed and foreign bodies matches the model', async () => {
  const course = fc.asyncProperty(courses, async (commands) => {
    const auditContext = await createWorld()
    for (const [each, replica] of [...beginning, ...commands]) await auditContext(each, replica)
  })
  process.stdout.write(`fast-check seed ${seed} (FC_SEED repeats it)\n`)
  await fc.assert(course, { seed, numRuns: 6 })
})
