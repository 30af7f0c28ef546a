import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { developmentIds } from '../../src/seed/development.ts'
import { type Way, ways } from '../harness/four-ways.ts'
import { type Answer, type Call, send } from '../harness/http.ts'
import { needs, needsStore } from '../harness/needs.ts'
import { signInAt } from '../harness/sign-in.ts'

const { workspace } = developmentIds
const internal = [500, 'SYSTEM.INTERNAL_ERROR']
const invalidReply = [502, 'SYSTEM.UPSTREAM_INVALID_RESPONSE']
const invalid = [400, 'VALIDATION.INVALID_PARAMETER']

describe.each([
  ['library', ways.library, internal],
  ['extension', ways.extension, internal],
  ['document', ways.document, invalidReply],
  ['placement', ways.placement, invalidReply],
] as const)('an operation of a domain added as %s', needsStore('embedded', 'split'), (name, start, fault) => {
  // The embedded store has one process.
  const isPossible = name !== 'placement' || inject('topology') === 'split'
  describe('keeps each promise', needs(isPossible, 'the embedded store has one process'), () => {
    let way: Way
    let owner: string
    let member: string
    let operator: string
    const post = (body: unknown, { headers, ...more }: Call = {}) =>
      send(way.gateway.url, 'POST', '/web/v1/consumer/parcels', {
        token: owner,
        workspace,
        body,
        ...more,
        headers: { 'x-request-id': randomUUID(), ...headers },
      })
    const sendParcel = (trick: string, id: string = randomUUID(), weight = 7) =>
      post({ trick, weight }, { headers: { 'x-request-id': id } })
    const outcome = ({ status, body }: Answer) => [status, body.code]
    const entriesOf = async (requestId: string) => {
      const path = '/web/v1/system/audit-log?action=parcels.send&pageSize=100'
      const { body } = await send(way.gateway.url, 'GET', path, { token: operator })
      return body.data.items
        .filter((each: { requestId: string }) => each.requestId === requestId)
        .map((each: { outcome: { code: string }; workspaceBizId: string }) => [each.outcome.code, each.workspaceBizId])
    }

    beforeAll(async () => {
      if (!isPossible) return
      way = await start()
      const tokenOf = async (email: string) => (await signInAt(way.gateway, email)).accessToken
      owner = await tokenOf('owner@demo.test')
      member = await tokenOf('member@demo.test')
      operator = await tokenOf('operator@demo.test')
    })
    afterAll(() => way?.stop())

    test('parcels.send 200: undeclared fields of the reply are removed at every depth', async () => {
      const { status, body } = await sendParcel('none')
      expect([status, body.data]).toEqual([
        200,
        { bizId: expect.any(String), note: '', weight: 7, inner: { first: { name: 'a' }, items: [{ name: 'a' }] } },
      ])
    })

    test.each([
      ['an unknown field', { trick: 'none', weight: 7, colour: 'red' }],
      ['an unknown field in an object', { trick: 'none', weight: 7, address: { city: 'a', street: 'b' } }],
      ['a missing field', { trick: 'none' }],
      ['a number as text', { trick: 'none', weight: '7' }],
      ['a fraction', { trick: 'none', weight: 1.5 }],
      ['null', null],
      ['an array', []],
    ])('parcels.send 400 VALIDATION.INVALID_PARAMETER: %s', async (_, body) => {
      expect(outcome(await post(body))).toEqual(invalid)
    })

    test('parcels.send 200: the largest safe integer is unchanged', async () => {
      const { text } = await sendParcel('none', randomUUID(), Number.MAX_SAFE_INTEGER)
      expect(text).toContain('"weight":9007199254740991')
    })

    test('parcels.send 403 ACCESS.PERMISSION_DENIED: a member without the permission', async () => {
      const id = randomUUID()
      const denied = await post({ trick: 'none', weight: 7 }, { token: member, headers: { 'x-request-id': id } })
      expect(outcome(denied)).toEqual([403, 'ACCESS.PERMISSION_DENIED'])
      await expect.poll(() => entriesOf(id)).toEqual([['REFUSED', workspace]])
    })

    test('parcels.send 401 and 400: the token and the workspace header are required', async () => {
      const body = { trick: 'none', weight: 7 }
      const anonymous = await send(way.gateway.url, 'POST', '/web/v1/consumer/parcels', { workspace, body })
      expect(outcome(anonymous)).toEqual([401, 'ACCESS.TOKEN_MISSING'])
      const nowhere = await send(way.gateway.url, 'POST', '/web/v1/consumer/parcels', { token: owner, body })
      expect(outcome(nowhere)).toEqual([400, 'ACCESS.WORKSPACE_REQUIRED'])
    })

    test('parcels.send 403: the workspace of somebody else', async () => {
      const elsewhere = await post({ trick: 'none', weight: 7 }, { workspace: randomUUID() })
      expect([403, 404]).toContain(elsewhere.status)
    })

    test('parcels.send 200: a retry gets the first reply, with one effect and one audit entry', async () => {
      const id = randomUUID()
      const [first, second] = [await sendParcel('none', id), await sendParcel('none', id)]
      expect(first.status, first.text).toBe(200)
      expect(second.body.data).toEqual(first.body.data)
      expect(await entriesOf(id)).toEqual([['SUCCESS', workspace]])
    })

    test('parcels.send 422 REQUEST.ID_REUSED: another body with the same id', async () => {
      const id = randomUUID()
      await sendParcel('none', id)
      expect(outcome(await sendParcel('none', id, 8))).toEqual([422, 'REQUEST.ID_REUSED'])
    })

    test('parcels.send 400: an idempotent command without X-Request-Id', async () => {
      const without = await post({ trick: 'none', weight: 7 }, { headers: { 'x-request-id': null } })
      expect(outcome(without)).toEqual([400, without.body.code])
    })

    test('parcels.send 409 PARCEL.LOST: a declared refusal is not stored', async () => {
      const id = randomUUID()
      expect(outcome(await sendParcel('lost', id))).toEqual([409, 'PARCEL.LOST'])
      expect((await sendParcel('none', id)).status).toBe(200)
    })

    test.each(['undeclared', 'large', 'text', 'fraction', 'missing'])(
      'parcels.send: a fault of its handler or service: %s',
      async (trick) => {
        const replied = await sendParcel(trick)
        expect(outcome(replied)).toEqual(fault)
        expect(replied.text).not.toContain('STATE.CONFLICT')
      },
    )

    test('parcels.send 429 ACCESS.RATE_LIMITED: its own rate limit group applies', async () => {
      const codes: unknown[] = []
      for (let turn = 0; turn < 61 && codes.at(-1) !== 'ACCESS.RATE_LIMITED'; turn++)
        codes.push((await sendParcel('none')).body.code)
      expect(codes.at(-1)).toBe('ACCESS.RATE_LIMITED')
    })
  })
})
