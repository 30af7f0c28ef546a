import { type Duplex, PassThrough, Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { listTimezones } from '../../../../src/banking/constants/contract.ts'
import { downloadFile } from '../../../../src/banking/files/contract.ts'
import { updateProfile } from '../../../../src/banking/profile/contract.ts'
import { type Call, clientDisconnected } from '../../../../src/gateway/pipeline/call.ts'
import { dispatchStage, stepUpStage } from '../../../../src/gateway/pipeline/stages/index.ts'
import {
  assertSteppedUp,
  bizId,
  freezeReply,
  type Instant,
  type Operation,
  Refusal,
  SocketReply,
  StreamReply,
  toPage,
} from '../../../../src/kernel/index.ts'
import { arrivedCall, clientOf } from '../../../harness/call.ts'
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
    maxReplyBytes: () => 100,
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

  test('a page with an estimated total marks the call, and has the declared members only', async () => {
    const operation = promising(
      z.object({ items: z.array(z.number()), pagination: z.object({ totalRecords: z.int() }) }),
    )
    const marks: unknown[] = []
    for (const isEstimated of [true, false]) {
      const { pagination, ...page } = toPage([1], { records: 20_000, isEstimated }, { currentPage: 1, pageSize: 1 })
      const call = portalCall(operation)
      await dispatchStage(() => backendOf({ ...page, pagination }))(call)
      marks.push(call.isTotalEstimated, call.reply)
    }
    const text = '{"items":[1],"pagination":{"totalRecords":20000}}'
    expect(marks).toEqual([true, text, false, text])
  })

  test('a stream of a handler whose client has disconnected stays on the call, which is released', async () => {
    const bytes = new StreamReply(200, {}, new PassThrough())
    const disconnect = new AbortController()
    const client = clientOf(disconnect.signal)
    const call = arrivedCall(downloadFile, { client })
    const handle = async () => {
      disconnect.abort()
      return bytes
    }
    const stage = dispatchStage(() => ({ ...backendOf(null), handle }))
    expect(await refused(() => stage(call))).toEqual(['REQUEST.MALFORMED', undefined])
    expect(call.reply).toBe(bytes)
  })

  test('a stream is passed on unchanged', async () => {
    const bytes = new StreamReply(200, {}, Readable.from([]))
    expect(await served(downloadFile, bytes)).toBe(bytes)
    expect(await served(downloadFile, { a: 1 })).toEqual(broken)
  })

  test('with more bytes than the limit is refused', async () => {
    expect(await served(promising(z.string()), 'é'.repeat(49))).toBe(`"${'é'.repeat(49)}"`)
    expect(await served(promising(z.string()), 'é'.repeat(50))).toEqual(broken)
  })

  test.each<[string, Operation['reply'], (bytes: Duplex) => unknown]>([
    ['a stream instead of data', z.object({ status: z.number() }), (bytes) => new StreamReply(200, {}, bytes)],
    ['a socket instead of data', z.object({}), (bytes) => new SocketReply(null, null, bytes)],
    ['a socket instead of a stream', 'stream', (bytes) => new SocketReply(null, null, bytes)],
  ])('%s is refused, and its bytes are released', async (_name, reply, replyOf) => {
    const bytes = new PassThrough()
    expect(await served(promising(reply), replyOf(bytes))).toEqual(broken)
    expect(bytes.destroyed).toBe(true)
  })
})

describe('a refusal', () => {
  const outcomeOf = async (operation: Operation, thrown: unknown) => {
    const stage = dispatchStage(() => ({
      handle: () => Promise.reject(thrown),
      replyError: (internal: string) => new Refusal('SYSTEM.UPSTREAM_INVALID_RESPONSE', { internal }),
      maxReplyBytes: () => 100,
    }))
    return stage(portalCall(operation))?.catch((error: unknown) => error)
  }
  const declaring: Operation = { ...listTimezones, refuses: ['STATE.CONFLICT'] }

  test('that the operation declares, or its policy implies, is passed on', async () => {
    for (const code of ['STATE.CONFLICT', 'VALIDATION.INVALID_PARAMETER', 'SYSTEM.NOT_IMPLEMENTED'] as const)
      expect(await outcomeOf(declaring, new Refusal(code))).toMatchObject({ code })
  })

  test('with another code is a fault of the backend that names the operation and the code', async () => {
    expect(await outcomeOf(declaring, new Refusal('WORKSPACE.NOT_ACTIVE'))).toMatchObject({
      code: 'SYSTEM.UPSTREAM_INVALID_RESPONSE',
      detail: {
        internal: `${declaring.id} refused with WORKSPACE.NOT_ACTIVE, which it does not declare in \`refuses\``,
      },
    })
  })
})

describe('ACCESS.STEP_UP_REQUIRED of a handler', () => {
  const served = async (stepUp: false | 'maybe', steppedUpAt: Instant | null) => {
    const call = portalCall({ ...listTimezones, reply: z.string(), policy: { ...listTimezones.policy, stepUp } })
    const handled: unknown[] = []
    const backend = {
      handle: async ({ caller }: Call) => {
        handled.push(caller?.steppedUpAt)
        assertSteppedUp(caller, call.receivedAt, 1_000)
        return 'done'
      },
      replyError: (internal: string) => new Refusal('SYSTEM.INTERNAL_ERROR', { internal }),
      maxReplyBytes: () => 100,
    }
    const caller = {
      accountId: bizId<'account'>('01990000-0000-7000-8000-000000000001'),
      portal: 'CONSUMER',
      sessionId: null,
      apiKeyId: null,
      steppedUpAt: null,
      permissions: new Set<never>(),
    } as const
    call.caller = caller
    const find = async () => {
      if (steppedUpAt === null) return { isFound: false, reason: 'no recent step-up' }
      call.caller = { ...caller, steppedUpAt }
      return { isFound: true }
    }
    const outcome = Promise.resolve(stepUpStage(find, 'purpose')(call)).then(() => dispatchStage(() => backend)(call))
    const error: unknown = await outcome.then(
      () => undefined,
      (caught: unknown) => caught,
    )
    return { reply: error instanceof Refusal ? [error.code, error.detail.internal] : call.reply, handled }
  }

  test('the step-up is found before the handler runs, once', async () => {
    const now = portalCall(listTimezones).receivedAt
    expect(await served('maybe', now)).toEqual({ reply: '"done"', handled: [now] })
  })

  test('403: the handler runs once without a step-up, and operators see the reason', async () => {
    const reply = ['ACCESS.STEP_UP_REQUIRED', 'no recent step-up']
    expect(await served('maybe', null)).toEqual({ reply, handled: [null] })
  })

  test('500: the policy does not declare it', async () => {
    const { reply, handled } = await served(false, null)
    expect(handled).toEqual([null])
    expect(reply).toEqual([
      'SYSTEM.INTERNAL_ERROR',
      "constants.timezones refused with ACCESS.STEP_UP_REQUIRED, which it does not declare in `policy.stepUp: 'maybe'`",
    ])
  })
})

test.each([
  ['constants.timezones', listTimezones, 0],
  ['profile.update', updateProfile, 1],
])(
  '%s: a handler begins for a client that has disconnected only if it is a command',
  async (_name, operation, runs) => {
    let begun = 0
    const backend = {
      handle: async () => {
        begun += 1
        return null
      },
      replyError: () => new Refusal('SYSTEM.INTERNAL_ERROR'),
      maxReplyBytes: () => 100,
    }
    const client = clientOf(AbortSignal.abort(clientDisconnected()))
    await refused(() => dispatchStage(() => backend)(arrivedCall(operation, { client })))
    expect(begun).toBe(runs)
  },
)
