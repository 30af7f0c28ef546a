import { beforeEach, describe, expect, test } from 'vitest'
import { downloadFile } from '../../../../src/banking/files/contract.ts'
import { createTransfer, listTransfers } from '../../../../src/banking/transfers/contract.ts'
import { secureChannelStage } from '../../../../src/gateway/pipeline/stages/index.ts'
import { closeSecureChannel, openSecureChannel } from '../../../../src/identity/secure-channel/contract.ts'
import type { Operation } from '../../../../src/kernel/index.ts'
import { maxJsonDepth } from '../../../../src/kernel/json.ts'
import { testSettings } from '../../../harness/settings.ts'
import { portalCall, refused } from './portal-call.ts'

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
  const calls: object[] = []
  const stage = secureChannelStage(
    {
      open: async (whatIsSealed) => {
        calls.push(whatIsSealed)
        return knows ? { plaintext: Buffer.from(plaintext), seal } : undefined
      },
      sealer: async (session) => {
        calls.push(session)
        sealers += 1
        return knows ? seal : undefined
      },
    },
    settings,
  )
  const through = async (headers: Record<string, string>, payload?: unknown, operation: Operation = createTransfer) => {
    const call = portalCall(operation, headers)
    call.payload = payload
    return { call, refusal: await refused(() => stage(call)) }
  }
  const body = { payload: 'a text' }

  test('the reply is sealed only on request', async () => {
    expect((await through(sealed, body)).call.sealReply?.('x')).toBe('sealed x')
    expect((await through(sealed)).call.sealReply?.('x')).toBe('sealed x')
    expect(sealers).toBe(1)
    expect((await through(session, body)).call.sealReply).toBeNull()
    expect((await through(session)).call.sealReply).toBeNull()
    expect(sealers).toBe(1)
  })

  test('a byte-order mark before the sealed JSON is ignored', async () => {
    plaintext = '\ufeff{"a":1}'
    expect((await through(session, body)).call.payload).toEqual({ a: 1 })
  })

  test('a payload is bound to portal, client, method and path', async () => {
    const sealedCall = portalCall(createTransfer, sealed, 'system')
    Object.assign(sealedCall, { portal: 'SYSTEM', clientHash: 'a hash', path: '/a/path' })
    const own = { sessionId: 'a session', portal: 'SYSTEM', clientHash: 'a hash', requestId: 'one' }
    await stage(Object.assign(sealedCall, { payload: body }))
    expect(calls.pop()).toEqual({ ...own, method: 'POST', path: '/a/path', payload: 'a text' })
    await stage(Object.assign(sealedCall, { payload: undefined }))
    expect(calls.pop()).toEqual(own)
  })

  test('an unreadable payload and an unknown session get the same refusal', async () => {
    knows = false
    for (const payload of [body, undefined])
      expect((await through(sealed, payload)).refusal).toEqual(['SECURE_CHANNEL.INVALID_PAYLOAD', undefined])
    expect((await through(session)).refusal).toBeUndefined()
  })

  test('a sealed reply needs the value `encrypted` and a session', async () => {
    const field = 'x-secure-channel-reply'
    expect((await through({ [field]: 'encrypted' }, body)).refusal).toEqual([invalid, field])
    expect((await through({ ...session, [field]: 'plain' }, body)).refusal).toEqual([invalid, field])
  })

  test('an operation without the channel ignores a channel session', async () => {
    for (const operation of [openSecureChannel, downloadFile]) {
      const { call, refusal } = await through(session, body, operation)
      expect([refusal, call.payload, call.sealReply]).toEqual([undefined, body, null])
    }
    expect(sealers).toBe(0)
  })

  test('400 VALIDATION.INVALID_PARAMETER: no sealed reply of an operation without a channel, on any chain', async () => {
    const field = 'x-secure-channel-reply'
    for (const operation of [openSecureChannel, closeSecureChannel, downloadFile])
      for (const headers of [sealed, { [field]: 'encrypted' }, { [field]: '' }])
        expect((await through(headers, body, operation)).refusal).toEqual([invalid, field])
    for (const chainId of ['api', 'self'] as const)
      expect(await refused(() => stage(portalCall(downloadFile, sealed, chainId)))).toEqual([invalid, field])
    const portalUnknown = Object.assign(portalCall(listTransfers, sealed, 'self'), { portal: null })
    expect(await refused(() => stage(portalUnknown))).toEqual([invalid, field])
    expect(sealers).toBe(0)
  })

  test('400 VALIDATION.INVALID_PARAMETER: no plain file where an encrypted reply is required', async () => {
    const print: Operation = { ...createTransfer, reply: 'stream' }
    const { call, refusal } = await through(sealed, body, print)
    expect([refusal, call.payload]).toEqual([[invalid, 'x-secure-channel-reply'], body])
    expect((await through(session, body, print)).call.payload).toEqual({})
  })

  test('a call without a body needs no channel', async () => {
    expect((await through({})).refusal).toBeUndefined()
    expect((await through({}, body)).refusal).toEqual(['SECURE_CHANNEL.INVALID_PAYLOAD', undefined])
  })

  test('is mandatory per portal', async () => {
    const atSystem = portalCall(createTransfer, {}, 'system')
    await expect(
      refused(() => stage(Object.assign(atSystem, { portal: 'SYSTEM', payload: {} }))),
    ).resolves.toBeUndefined()
  })

  test('its content is parsed as strictly as a plain body', async () => {
    const opens = async (text: string) => {
      plaintext = text
      const { call, refusal } = await through(session, body)
      return refusal ?? call.payload
    }
    expect(await opens('{"a":1}')).toEqual({ a: 1 })
    expect(await opens(`${'['.repeat(maxJsonDepth)}${']'.repeat(maxJsonDepth)}`)).toHaveLength(1)
    for (const bad of [
      '',
      '{',
      '{"a":1,"a":2}',
      '{"a":9007199254740993}',
      '[1e400]',
      `${'['.repeat(maxJsonDepth + 1)}${']'.repeat(maxJsonDepth + 1)}`,
    ])
      expect(await opens(bad)).toEqual([invalid, 'body'])
  })
})
