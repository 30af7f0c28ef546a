import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { listTimezones } from '../../../../src/domains/constants/contract.ts'
import { downloadFile } from '../../../../src/domains/files/contract.ts'
import { dispatchStage } from '../../../../src/gateway/pipeline/stages/index.ts'
import { freezeReply, type Operation, Refusal, StreamReply } from '../../../../src/kernel/index.ts'
import { portalCall, refused } from './portal-call.ts'

describe('a reply', () => {
  const promising = (reply: Operation['reply']): Operation => ({ ...listTimezones, reply })
  const served = async (operation: Operation, reply: unknown, stage = dispatchStage(() => backendOf(reply))) => {
    const call = portalCall(operation)
    return (await refused(() => stage(call))) ?? call.reply
  }
  const backendOf = (reply: unknown) => ({
    handle: async () => reply,
    replyError: (internal: string) => new Refusal('SYSTEM.UPSTREAM_INVALID_RESPONSE', { internal }),
  })
  const broken = ['SYSTEM.UPSTREAM_INVALID_RESPONSE', undefined]

  test('has the declared members only', async () => {
    const operation = promising(z.object({ a: z.number() }))
    expect(await served(operation, { a: 1, secret: 2 })).toBe('{"a":1}')
    expect(await served(operation, { a: '1' })).toEqual(broken)
    expect(await served(promising(z.undefined()), undefined)).toBe('null')
  })

  test('a constant one is cached per schema', async () => {
    const both = freezeReply({ a: 1, b: 2 })
    const stage = dispatchStage(() => backendOf(both))
    for (const name of ['a', 'b', 'a', 'b'])
      expect(await served(promising(z.object({ [name]: z.number() })), both, stage)).toBe(
        JSON.stringify({ [name]: name === 'a' ? 1 : 2 }),
      )
  })

  test('a stream is passed on unchanged', async () => {
    const bytes = new StreamReply(200, {}, Readable.from([]))
    expect(await served(downloadFile, bytes)).toBe(bytes)
    expect(await served(downloadFile, { a: 1 })).toEqual(broken)
  })
})
