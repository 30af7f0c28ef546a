import { Readable } from 'node:stream'
import { beforeEach, describe, expect, test } from 'vitest'
import * as z from 'zod'
import { listTimezones } from '../../src/domains/constants/contract.ts'
import { downloadFile } from '../../src/domains/files/contract.ts'
import { createTransfer, listTransfers } from '../../src/domains/transfers/contract.ts'
import type { Call } from '../../src/gateway/call.ts'
import { stages } from '../../src/gateway/stages/index.ts'
import { logout } from '../../src/identity/login/contract.ts'
import { closeSecureChannel, openSecureChannel } from '../../src/identity/secure-channel/contract.ts'
import { type ChainId, freezeReply, type Operation, Refusal, StreamReply } from '../../src/kernel/index.ts'
import { arrivedCall, headersOf } from '../harness/call.ts'
import { testSettings } from '../harness/settings.ts'

const callOf = (
  operation: Operation,
  headers: Record<string, string> = {},
  chainId: ChainId = 'consumer',
  query = '',
): Call => {
  const call = arrivedCall(operation, { chainId, query, headers: headersOf(headers) })
  call.portal = 'CONSUMER'
  return call
}

/** Undefined, or the code of the refusal and the field that it names. */
const refused = async (run: () => unknown): Promise<unknown> => {
  try {
    await run()
  } catch (error) {
    if (error instanceof Refusal) return [error.code, error.detail.field]
    throw error
  }
  return undefined
}
const invalid = 'VALIDATION.INVALID_PARAMETER'

describe('a body through the secure channel', () => {
  const settings = testSettings({})
  settings.portals.CONSUMER.channelMandatory = ['money']
  const session = { 'x-secure-channel-session-id': 'a session' }
  const sealed = { ...session, 'x-secure-channel-reply': 'encrypted' }
  let plaintext = ''
  let sealers = 0
  let knows = true
  beforeEach(() => {
    plaintext = '{}'
    sealers = 0
    knows = true
  })
  const seal = (text: string) => `sealed ${text}`
  const asked: object[] = []
  const stage = stages.secureChannel(
    {
      open: async (whatIsSealed) => {
        asked.push(whatIsSealed)
        return knows ? { plaintext: Buffer.from(plaintext), seal } : undefined
      },
      sealer: async (session) => {
        asked.push(session)
        sealers += 1
        return knows ? seal : undefined
      },
    },
    settings,
  )
  const through = async (headers: Record<string, string>, payload?: unknown, operation: Operation = createTransfer) => {
    const call = callOf(operation, headers)
    call.payload = payload
    return { call, refusal: await refused(() => stage(call)) }
  }
  const body = { payload: 'a text' }

  test('the answer is sealed where that is asked for, and nowhere else', async () => {
    expect((await through(sealed, body)).call.sealReply?.('x')).toBe('sealed x')
    expect((await through(sealed)).call.sealReply?.('x')).toBe('sealed x')
    expect(sealers).toBe(1)
    expect((await through(session, body)).call.sealReply).toBeNull()
    expect((await through(session)).call.sealReply).toBeNull()
    expect(sealers).toBe(1)
  })

  test('a session is one of the call’s own portal and client, and what it opens is for this very path', async () => {
    const sealedCall = callOf(createTransfer, sealed, 'system')
    Object.assign(sealedCall, { portal: 'SYSTEM', clientHash: 'a hash', path: '/a/path' })
    const own = { sessionId: 'a session', portal: 'SYSTEM', clientHash: 'a hash' }
    await stage(Object.assign(sealedCall, { payload: body }))
    expect(asked.pop()).toEqual({ ...own, method: 'POST', path: '/a/path', payload: 'a text' })
    await stage(Object.assign(sealedCall, { payload: undefined }))
    expect(asked.pop()).toEqual(own)
  })

  test('what does not open, and a session that is unknown to whoever asks for a sealed answer, are one refusal', async () => {
    knows = false
    for (const given of [body, undefined])
      expect((await through(sealed, given)).refusal).toEqual(['SECURE_CHANNEL.INVALID_PAYLOAD', undefined])
    expect((await through(session)).refusal).toBeUndefined()
  })

  test('a sealed answer is asked for by one word, and of a session', async () => {
    const field = 'x-secure-channel-reply'
    expect((await through({ [field]: 'encrypted' }, body)).refusal).toEqual([invalid, field])
    expect((await through({ ...session, [field]: 'plain' }, body)).refusal).toEqual([invalid, field])
  })

  test('an operation that has no use for the channel looks at nothing of it', async () => {
    for (const operation of [openSecureChannel, downloadFile]) {
      const { call, refusal } = await through(sealed, body, operation)
      expect([refusal, call.payload, call.sealReply]).toEqual([undefined, body, null])
    }
    expect(sealers).toBe(0)
  })

  test('a call without a body has nothing that would have to be sealed', async () => {
    expect((await through({})).refusal).toBeUndefined()
    expect((await through({}, body)).refusal).toEqual(['SECURE_CHANNEL.INVALID_PAYLOAD', undefined])
  })

  test('is demanded by each portal for itself', async () => {
    const atSystem = callOf(createTransfer, {}, 'system')
    await expect(
      refused(() => stage(Object.assign(atSystem, { portal: 'SYSTEM', payload: {} }))),
    ).resolves.toBeUndefined()
  })

  test('what it opens to is JSON as strict as one in the clear', async () => {
    const { maxDepth } = settings.requests
    const opens = async (text: string) => {
      plaintext = text
      const { call, refusal } = await through(session, body)
      return refusal ?? call.payload
    }
    expect(await opens('{"a":1}')).toEqual({ a: 1 })
    expect(await opens(`${'['.repeat(maxDepth)}${']'.repeat(maxDepth)}`)).toHaveLength(1)
    for (const bad of ['', '{', '{"a":1,"a":2}', `${'['.repeat(maxDepth + 1)}${']'.repeat(maxDepth + 1)}`])
      expect(await opens(bad)).toEqual([invalid, 'body'])
  })
})

describe('a query', () => {
  const settings = testSettings({})
  const checked = (operation: Operation, query: string, chainId: ChainId = 'consumer') =>
    refused(() => stages.validate(settings)(callOf(operation, {}, chainId, query)))

  test('500 where none is given is a portal’s alone, and only where its configuration keeps it', async () => {
    settings.portals.CONSUMER.compatibility.observedErrors = true
    expect(await checked(listTransfers, '')).toEqual(['SYSTEM.INTERNAL_ERROR', undefined])
    expect(await checked(listTransfers, '', 'api')).toBeUndefined()
    settings.portals.CONSUMER.compatibility.observedErrors = false
    expect(await checked(listTransfers, '')).toEqual([invalid, 'query'])
  })

  test('500 where no channel session is named for its end, and 400 naming it where the configuration does without', async () => {
    settings.portals.CONSUMER.compatibility.observedErrors = true
    expect(await checked(closeSecureChannel, '')).toEqual(['SYSTEM.INTERNAL_ERROR', undefined])
    settings.portals.CONSUMER.compatibility.observedErrors = false
    expect(await checked(closeSecureChannel, '')).toEqual([invalid, 'x-secure-channel-session-id'])
    const atSystem = callOf(closeSecureChannel, {}, 'system')
    atSystem.portal = 'SYSTEM'
    settings.portals.SYSTEM.compatibility.observedErrors = true
    expect(await refused(() => stages.validate(settings)(atSystem))).toEqual(['SYSTEM.INTERNAL_ERROR', undefined])
  })

  test('a name that nobody declared is refused, and repeated where it can be shown', async () => {
    expect(await checked(listTimezones, 'odd=1')).toEqual([invalid, 'odd'])
    expect(await checked(listTimezones, '%3Cb%3E=1')).toEqual([invalid, 'query'])
    expect(await checked(listTimezones, `${'a'.repeat(65)}=1`)).toEqual([invalid, 'query'])
    expect(await checked(listTransfers, '%3Cb%3E=1')).toEqual([invalid, 'query'])
  })
})

test.each<[unknown, boolean]>([
  [undefined, true],
  [{}, true],
  [{ surprise: 1 }, false],
  [[], false],
  [null, false],
  ['', false],
  [0, false],
])('of an operation that takes no body the body %j is taken: %s', async (payload, isTaken) => {
  const call = callOf(logout)
  call.payload = payload
  expect(await refused(() => stages.validate(testSettings({}))(call))).toEqual(isTaken ? undefined : [invalid, 'body'])
})

describe('a reply', () => {
  const promising = (reply: Operation['reply']): Operation => ({ ...listTimezones, reply })
  const served = async (operation: Operation, reply: unknown, stage = stages.serve(() => backendOf(reply))) => {
    const call = callOf(operation)
    return (await refused(() => stage(call))) ?? call.reply
  }
  const backendOf = (reply: unknown) => ({
    handle: async () => reply,
    broken: (internal: string) => new Refusal('SYSTEM.UPSTREAM_INVALID_RESPONSE', { internal }),
  })
  const broken = ['SYSTEM.UPSTREAM_INVALID_RESPONSE', undefined]

  test('holds what is promised, and nothing else', async () => {
    const operation = promising(z.object({ a: z.number() }))
    expect(await served(operation, { a: 1, secret: 2 })).toBe('{"a":1}')
    expect(await served(operation, { a: '1' })).toEqual(broken)
    expect(await served(promising(z.undefined()), undefined)).toBe('null')
  })

  test('that never changes keeps each promise for itself', async () => {
    const both = freezeReply({ a: 1, b: 2 })
    const stage = stages.serve(() => backendOf(both))
    for (const name of ['a', 'b', 'a', 'b'])
      expect(await served(promising(z.object({ [name]: z.number() })), both, stage)).toBe(
        JSON.stringify({ [name]: name === 'a' ? 1 : 2 }),
      )
  })

  test('of bytes is bytes', async () => {
    const bytes = new StreamReply(200, {}, Readable.from([]))
    expect(await served(downloadFile, bytes)).toBe(bytes)
    expect(await served(downloadFile, { a: 1 })).toEqual(broken)
  })
})
