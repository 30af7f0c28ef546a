import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { developmentIds } from '../../../src/seed/development.ts'
import { type Way, ways } from '../../harness/four-ways.ts'
import { type Answer, type Call, send } from '../../harness/http.ts'
import { needs, needsStore } from '../../harness/needs.ts'
import { openSealed } from '../../harness/sealed.ts'
import { outboxOf, signIn } from '../../harness/sign-in.ts'

const { workspace } = developmentIds
const internal = [500, 'SYSTEM.INTERNAL_ERROR']
const invalidReply = [502, 'SYSTEM.UPSTREAM_INVALID_RESPONSE']
const invalid = [400, 'VALIDATION.INVALID_PARAMETER']

describe.each([
  ['library', ways.library, internal],
  ['extension', ways.extension, internal],
  ['document', ways.document, invalidReply],
  ['placement', ways.placement, invalidReply],
] as const)('an operation of a domain added as %s', needsStore(), (name, start, fault) => {
  const isPossible = name !== 'placement' || inject('topology') === 'distributed'
  describe('keeps each promise', needs(isPossible, 'only the distributed topology has a domain service'), () => {
    let way: Way
    let turn = 0
    /** Uses the gateways in turn. */
    const call = (method: string, path: string, options?: Call): Promise<Answer> => {
      const gateway = way.gateways[turn++ % way.gateways.length]
      if (!gateway) throw new Error('no gateway')
      return send(gateway.url, method, path, options)
    }
    let owner: string
    let member: string
    let operator: string
    const post = (body: unknown, { headers, ...more }: Call = {}) =>
      call('POST', '/web/v1/consumer/parcels', {
        token: owner,
        workspace,
        body,
        ...more,
        headers: { 'x-request-id': randomUUID(), ...headers },
      })
    const sendParcel = (trick: string, id: string = randomUUID(), weight = 7) =>
      post({ trick, weight }, { headers: { 'x-request-id': id } })
    const find = (above: string) =>
      call('GET', `/web/v1/consumer/parcels?above=${encodeURIComponent(above)}`, { token: owner, workspace })
    const outcome = ({ status, body }: Answer) => [status, body.code]
    const entriesOf = async (requestId: string) => {
      const path = '/web/v1/system/audit-log?action=parcels.send&pageSize=100'
      const { body } = await call('GET', path, { token: operator })
      return body.data.items
        .filter((each: { requestId: string }) => each.requestId === requestId)
        .map((each: { outcome: { code: string }; workspaceBizId: string }) => [each.outcome.code, each.workspaceBizId])
    }

    beforeAll(async () => {
      if (!isPossible) return
      way = await start()
      const [first] = way.gateways
      if (!first) throw new Error('no gateway')
      const tokenOf = async (email: string) => (await signIn({ call, mailTo: outboxOf(first) }, email)).accessToken
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

    const deep = (levels: number): unknown => (levels === 0 ? {} : [deep(levels - 1)])

    test('parcels.send 413 and 400: a body above the limit, and a body that is nested too deep', async () => {
      const large = await post({ trick: 'x'.repeat(300_000), weight: 7 })
      expect(outcome(large)).toEqual([413, 'REQUEST.TOO_LARGE'])
      expect(outcome(await post({ trick: 'none', weight: 7, sizes: deep(1_000) }))).toEqual(invalid)
    })

    const inexact = ['9007199254740993', '1e400', '0.1000000000000000055511151231257827']

    test.each(inexact)(
      'parcels.send 400 VALIDATION.INVALID_PARAMETER: %s, plain, nested and encrypted',
      async (number) => {
        const text = `{"trick":"none","weight":7,"sizes":[{"cm":1},{"cm":${number}}]}`
        const id = randomUUID()
        expect(outcome(await post(text, { headers: { 'x-request-id': id } }))).toEqual(invalid)
        const postSealed = await openSealed(call)
        const options = { token: owner, workspace, headers: { 'x-request-id': id }, body: text }
        expect(outcome(await postSealed('/web/v1/consumer/parcels', options))).toEqual(invalid)
        expect((await sendParcel('none', id)).status).toBe(200)
      },
    )

    test.each(inexact)('parcels.find 400 VALIDATION.INVALID_PARAMETER: %s in the query', async (number) => {
      expect(outcome(await find(number))).toEqual(invalid)
    })

    test.each([
      ['1.50', 1.5],
      ['1E+2', 100],
      ['9007199254740992', 2 ** 53],
      ['0.30000000000000004', 0.1 + 0.2],
      ['1e21', 1e21],
      ['5e-324', 5e-324],
    ])(
      'parcels.send and parcels.find 200: %s keeps its value, also in a stored and an encrypted reply',
      async (text, cm) => {
        const id = randomUUID()
        const body = `{"trick":"none","weight":7,"sizes":[{"cm":${text}}]}`
        const options = { token: owner, workspace, headers: { 'x-request-id': id }, body }
        const postSealed = await openSealed(call)
        for (const sent of [await post(body, options), await post(body, options)])
          expect([sent.status, sent.body.data?.sizes], sent.text).toEqual([200, [{ cm }]])
        expect((await postSealed('/web/v1/consumer/parcels', options)).body.data.sizes).toEqual([{ cm }])
        expect((await find(text)).body.data).toEqual({ above: cm })
      },
    )

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
      const anonymous = await call('POST', '/web/v1/consumer/parcels', { workspace, body })
      expect(outcome(anonymous)).toEqual([401, 'ACCESS.TOKEN_MISSING'])
      const nowhere = await call('POST', '/web/v1/consumer/parcels', { token: owner, body })
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

    test('parcels.send 200 or 409 REQUEST.IN_PROGRESS: parallel requests have one effect', async () => {
      const id = randomUUID()
      const replies = await Promise.all(Array.from({ length: 5 }, () => sendParcel('none', id)))
      const ids = replies.filter(({ status }) => status === 200).map(({ body }) => body.data.bizId)
      expect(new Set(ids).size).toBe(1)
      const others = replies.filter(({ status }) => status !== 200).map(outcome)
      expect(others).toEqual(others.map(() => [409, 'REQUEST.IN_PROGRESS']))
      expect(await entriesOf(id)).toEqual([['SUCCESS', workspace]])
    })

    test('parcels.send 200: the id of another account is another command', async () => {
      const { bizId: userBizId } = (await call('GET', '/web/v1/consumer/profile', { token: member })).body.data
      const manage = async (path: string, body: object) =>
        (await call('POST', `/web/v1/consumer/roles${path}`, { token: owner, workspace, body })).body.data
      const role = await manage('', { roleName: 'Parcels', permissionCodes: ['parcel:send'] })
      await manage('/members/role/change', { userBizId, roleBizId: role.bizId })
      const id = randomUUID()
      const first = await sendParcel('none', id)
      const options = { token: member, headers: { 'x-request-id': id } }
      const second = await post({ trick: 'none', weight: 7 }, options)
      expect([first.status, second.status], second.text).toEqual([200, 200])
      expect(second.body.data.bizId).not.toBe(first.body.data.bizId)
      expect(outcome(await post({ trick: 'none', weight: 8 }, options))).toEqual([422, 'REQUEST.ID_REUSED'])
      await expect.poll(() => entriesOf(id)).toHaveLength(2)
      await manage('/members/role/change', { userBizId, roleBizId: developmentIds.memberRole })
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

    test.each(['undeclared', 'large', 'text', 'fraction', 'missing', 'deep', 'inexact'])(
      'parcels.send: a fault of its handler or service, and of each retry: %s',
      async (trick) => {
        const id = randomUUID()
        for (let attempt = 1; attempt <= 2; attempt++) {
          const replied = await sendParcel(trick, id)
          expect(outcome(replied)).toEqual(fault)
          expect(replied.text).not.toContain('STATE.CONFLICT')
        }
        expect(await entriesOf(id)).not.toContainEqual(['SUCCESS', workspace])
      },
    )

    test('parcels.send 429 ACCESS.RATE_LIMITED: its own rate limit group applies', async () => {
      const codes: unknown[] = []
      for (let count = 0; count < 121 && codes.at(-1) !== 'ACCESS.RATE_LIMITED'; count++)
        codes.push((await sendParcel('none')).body.code)
      expect(codes.at(-1)).toBe('ACCESS.RATE_LIMITED')
    })
  })
})
