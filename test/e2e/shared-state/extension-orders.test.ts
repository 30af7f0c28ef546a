import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../../src/seed/development.ts'
import { runCli } from '../../harness/cli.ts'
import { startConfigured } from '../../harness/configured.ts'
import { type Answer, type Call, requiredHeaders, send } from '../../harness/http.ts'
import { needsStore } from '../../harness/needs.ts'
import type { PorticoProcess } from '../../harness/process.ts'
import { outboxOf, signIn } from '../../harness/sign-in.ts'
import { createStore, type TestStore } from '../../harness/store.ts'

const { workspace, mainUsd } = developmentIds
const password = 'a-long-enough-passphrase-7'
const operators = ['first.of.deposits@example.test', 'second.of.deposits@example.test']
const deposits = {
  extensions: ['./examples/deposits/index.ts'],
  money: { separationOfDuties: { enabled: true, from: {} } },
}

describe('the order type of an extension', needsStore(), () => {
  let store: TestStore
  let gateway: PorticoProcess
  let owner = ''
  let [first, second] = ['', '']

  const call = (method: string, path: string, options: Call = {}): Promise<Answer> =>
    send(gateway.url, method, path, options)
  const member = (method: string, path: string, options: Call = {}) =>
    call(method, `/web/v1/consumer${path}`, { token: owner, workspace, ...options })
  const decide = (token: string, id: string, move: string, options: Call = {}) =>
    call('POST', `/web/v1/system/deposits/${id}/${move}`, { token, ...options })
  const data = async (answer: Promise<Answer>) => {
    const { status, text, body } = await answer
    expect(status, text).toBe(200)
    return body.data
  }
  const codeOf = async (answer: Promise<Answer>) => {
    const { status, body } = await answer
    return [status, body.code]
  }
  const request = async (options: Call = {}): Promise<string> =>
    (await data(member('POST', '/deposits', { body: { amount: '12.34', currency: 'USD' }, ...options }))).bizId
  const available = async (): Promise<number> =>
    Number((await data(member('GET', `/wallets/${mainUsd}/balance`))).availableBalance)

  beforeAll(async () => {
    store = await createStore()
    for (const email of operators) {
      const create = ['operator', 'create', '--email', email, '--name', 'Approver', '--reason', 'a test']
      const options = ['--permissions', 'deposit:approve,deposit:read,ledger:read', '--password-stdin']
      const created = await runCli([...create, ...options], deposits, store.variables, password)
      expect(created.code, created.err).toBe(0)
    }
    gateway = await startConfigured({ ...store.variables, PORTICO_RATE_LIMIT_SCALE: '1000' }, deposits)
    const mailTo = outboxOf(gateway)
    const signInOperator = async (email: string) =>
      (await signIn({ call, mailTo }, email, {}, password, 'system')).accessToken
    owner = (await signIn({ call, mailTo })).accessToken
    first = await signInOperator(operators[0] ?? '')
    second = await signInOperator(operators[1] ?? '')
  })
  afterAll(async () => {
    await gateway?.stop()
    await store?.remove()
  })

  test('deposits.request 200: a repeated request returns the first deposit and holds its funds once', async () => {
    const before = await available()
    const headers = requiredHeaders()
    const bizId = await request({ headers })
    expect(await request({ headers })).toBe(bizId)
    expect(before - (await available())).toBeCloseTo(12.34)
    const other = member('POST', '/deposits', { body: { amount: '1.00', currency: 'USD' }, headers })
    expect((await codeOf(other))[1]).toBe('REQUEST.ID_REUSED')
    await data(member('POST', `/deposits/${bizId}/cancel`))
    expect(await available()).toBe(before)
  })

  test('deposits.payBack 403 ACCESS.PERMISSION_DENIED: the operator who accepted it', async () => {
    const before = await available()
    const id = await request()
    await data(decide(first, id, 'accept'))
    expect(await codeOf(decide(first, id, 'pay-back'))).toEqual([403, 'ACCESS.PERMISSION_DENIED'])
    const outcomes = await Promise.all(Array.from({ length: 4 }, () => codeOf(decide(second, id, 'pay-back'))))
    expect(outcomes.filter(([status]) => status === 200)).toHaveLength(1)
    expect(outcomes.filter(([, code]) => code === 'STATE.CONFLICT')).toHaveLength(3)
    expect(await available()).toBe(before)
    const { statusHistory } = await data(member('GET', `/deposits/${id}`))
    expect(statusHistory.map(({ status }: { status: { code: string } }) => status.code)).toEqual([
      ...['REQUESTED', 'ACCEPTED', 'PAID_BACK'],
    ])
    expect((await data(call('GET', '/web/v1/system/ledger/invariants', { token: first }))).holds).toBe(true)
  })
})
