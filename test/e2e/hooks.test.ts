import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { domain, type Hook } from '../../src/api/domain.ts'
import { member } from '../../src/contract/policies.ts'
import { type Code, operation, Refusal } from '../../src/kernel/index.ts'
import { developmentIds } from '../../src/seed/development.ts'
import { send } from '../harness/http.ts'
import { limits } from '../harness/limits/index.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { signIn } from '../harness/sign-in.ts'

const { workspace, mainUsd, savingsUsd } = developmentIds

const stamp = operation({
  id: 'stamps.create',
  method: 'POST',
  path: '/stamps',
  chains: ['consumer'],
  summary: 'Create a stamp',
  policy: { ...member, workspace: 'required', permission: 'wallet:read', idempotent: true },
  body: z.strictObject({ way: z.enum(['once', 'nothing', 'database', 'forgotten']) }),
  reply: z.object({ way: z.string() }),
  refuses: [],
})

const ran: string[] = []

/** Refuses a transfer of 3.00, and records each hook that runs. */
const second: Hook = async ({ operationId, body }) => {
  ran.push(operationId)
  const { amount } = z.object({ amount: z.object({ minor: z.bigint() }).optional() }).parse(body)
  if (amount?.minor === 300n) throw new Refusal('STAMP.THREE' as Code)
}

const stamps = domain({
  name: 'stamps',
  summary: 'Stamps.',
  operations: { stamp },
  codes: { 'STAMP.THREE': { status: 409 } },
  locales: new URL('../harness/limits/stamps/', import.meta.url),
  migrations: [{ name: '001-stamps', up: async (tx) => void (await sql`CREATE TABLE stamps (way text)`.execute(tx)) }],
  needs: ['database', 'once'],
  before: { 'transfers.create': second, 'stamps.create': second },
  create: ({ database, once }) => ({
    handlers: {
      stamp: async (request) => {
        const { way } = request.body
        const insert = (store: typeof database) => sql`INSERT INTO stamps VALUES (${way})`.execute(store)
        if (way === 'once')
          return once(request, async (tx) => {
            await insert(tx)
            return { way }
          })
        if (way === 'database') await insert(database)
        if (way === 'forgotten') await insert(database).catch(() => undefined)
        return { way }
      },
    },
  }),
})

describe('hooks of two domains', () => {
  let portico: Portico
  let token: string
  beforeAll(async () => {
    portico = await startPortico({ domains: [limits, stamps] })
    portico.expectFault(({ operation: id }) => id === 'stamps.create')
    token = (await signIn(portico)).accessToken
  })
  afterAll(() => portico?.stop())

  /** The harness knows no audit entries of other domains. */
  const post = (path: string, body: object, requestId: string = randomUUID()) =>
    send(portico.url, 'POST', `/web/v1/consumer${path}`, {
      token,
      workspace,
      headers: { 'x-request-id': requestId },
      body,
    })
  const transfer = (amount: string, requestId?: string) => {
    const wallets = { sourceWalletBizId: mainUsd, targetWalletBizId: savingsUsd }
    return post('/transfer/command/create', { ...wallets, amount, currency: 'USD' }, requestId)
  }
  const explained = async (requestId: string) => {
    const response = await fetch(`${portico.operationsUrl}/explain/${requestId}`)
    const [decision] = await response.json()
    return { code: decision.code, hooks: decision.hooks }
  }

  test.each([
    ['1.00', { code: null, hooks: [passed('limits'), passed('stamps')] }],
    ['3.00', { code: 'STAMP.THREE', hooks: [passed('limits'), { domain: 'stamps', verdict: 'refused' }] }],
    ['500.01', { code: 'LIMIT.EXCEEDED', hooks: [{ domain: 'limits', verdict: 'refused' }] }],
  ])(
    'transfers.create of %s: the hooks run in the order of the domains, as /explain shows',
    async (amount, outcome) => {
      const requestId = randomUUID()
      const { body } = await transfer(amount, requestId)
      expect(body.success ? null : body.code).toBe(outcome.code)
      expect(await explained(requestId)).toEqual(outcome)
    },
  )

  test('wallets.list 200: /explain shows no hooks for an operation without them', async () => {
    const requestId = randomUUID()
    await portico.call('GET', '/web/v1/consumer/wallets', { token, workspace, headers: { 'x-request-id': requestId } })
    expect(await explained(requestId)).toEqual({ code: null, hooks: undefined })
  })

  test('stamps.create 200: a hook of the own domain runs first in once, and not for a retry', async () => {
    ran.length = 0
    const requestId = randomUUID()
    for (const _ of ['first', 'retry']) expect((await post('/stamps', { way: 'once' }, requestId)).status).toBe(200)
    expect(ran).toEqual(['stamps.create'])
  })

  test.each(['nothing', 'database', 'forgotten'])(
    'stamps.create 500 SYSTEM.INTERNAL_ERROR: a handler without a transaction fails closed: %s',
    async (way) => {
      const requestId = randomUUID()
      expect((await post('/stamps', { way }, requestId)).body.code).toBe('SYSTEM.INTERNAL_ERROR')
      const { rows } = await sql`SELECT way FROM stamps WHERE way = ${way}`.execute(portico.running.database)
      expect(rows).toEqual([])
    },
  )

  test('the OpenAPI document lists the codes and the domains of the hooks', async () => {
    const document = await (await fetch(`${portico.url}/openapi.json`)).json()
    const create = document.paths['/web/v1/consumer/transfer/command/create'].post
    expect(create['x-portico'].before).toEqual(['limits', 'stamps'])
    expect(create['x-portico'].refuses).toEqual(expect.arrayContaining(['LIMIT.EXCEEDED', 'STAMP.THREE']))
    expect(create.description).toContain('Hooks of `limits`, `stamps` run first in its transaction and can refuse it.')
    const [, component] = /\/(\w+)$/.exec(create.responses['409'].$ref) ?? []
    expect(JSON.stringify(document.components.responses[component ?? ''])).toContain('STAMP.THREE')
    const cancel = document.paths['/web/v1/consumer/transfer/command/cancel/{order_id}']?.post
    expect(JSON.stringify(cancel ?? {})).not.toContain('LIMIT.EXCEEDED')
  })
})

function passed(name: string) {
  return { domain: name, verdict: 'passed' }
}
