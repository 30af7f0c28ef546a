import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../../src/seed/development.ts'
import { type Extended, startExtended } from '../../harness/extended.ts'
import { type Answer, type Call, send } from '../../harness/http.ts'
import { needsStore } from '../../harness/needs.ts'
import { outboxOf, signIn } from '../../harness/sign-in.ts'

const { workspace } = developmentIds
/** The gateways serve the extension themselves. */
const vouchers = {
  extensions: ['./test/harness/extensions/vouchers/index.js'],
  backends: { vouchers: 'in-process' },
  // A transaction that never settles ends first.
  requests: { handlerTimeoutMs: 30_000 },
}

const fault = [500, 'SYSTEM.INTERNAL_ERROR']

describe('a command of an extension', needsStore(), () => {
  let deployment: Extended
  let token: string
  let turn = 0
  /** Uses the gateways in turn. */
  const call = (method: string, path: string, options?: Call): Promise<Answer> => {
    const gateway = deployment.gateways[turn++ % deployment.gateways.length]
    if (!gateway) throw new Error('no gateway')
    return send(gateway.url, method, path, options)
  }
  const own = (method: string, path: string, options: Call = {}) =>
    call(method, `/web/v1/consumer${path}`, { token, workspace, ...options })
  const counts = async () => (await own('GET', '/vouchers')).body.data
  const issue = (mistake: string, requestId: string = randomUUID()) =>
    own('POST', '/vouchers', { headers: { 'x-request-id': requestId }, body: { mistake } })
  const outcome = ({ status, body }: Answer) => [status, body.code]
  const output = () => deployment.processes.map((each) => each.output()).join('\n')

  /** The first attempt and a retry fail alike, and nothing was written. */
  const expectNothing = async (mistake: string, expected: unknown[]) => {
    const before = await counts()
    const requestId = randomUUID()
    for (let attempt = 1; attempt <= 2; attempt++) expect(outcome(await issue(mistake, requestId))).toEqual(expected)
    expect(await counts()).toEqual(before)
  }

  beforeAll(async () => {
    deployment = await startExtended(vouchers)
    const [first] = deployment.gateways
    if (!first) throw new Error('no gateway')
    token = (await signIn({ call, mailTo: outboxOf(first) })).accessToken
  })
  afterAll(() => deployment?.stop())

  test.each([
    ...['database', 'ledger', 'transaction', 'once', 'withoutTimeouts', 'inSnapshot', 'accounts', 'sessions'],
    ...['workspaces', 'mailer'],
  ])('vouchers.issue 500 SYSTEM.INTERNAL_ERROR: %s inside once is refused, and nothing is written', async (port) => {
    const startedAt = performance.now()
    await expectNothing(port, fault)
    expect(performance.now() - startedAt).toBeLessThan(5_000)
    await expect.poll(output).toContain(`vouchers.issue uses \`${port}\` inside \`once\`: use \`tx\``)
  })

  test.each([
    ['type', 'reply does not match its schema: note: Invalid input: expected string, received number'],
    ['size', 'reply has 6000058 bytes, more than the maximum of 5242880'],
    ['depth', 'reply is nested more than 64 times'],
    ['forgottenDatabase', 'vouchers.issue uses `database` inside `once`: use `tx`'],
    ['forgottenLedger', 'vouchers.issue uses `ledger` inside `once`: use `tx`'],
    ['forgottenOnce', 'the printer is on fire'],
    ['commit', 'COMMIT is not a statement of a command: return or throw'],
    ['job', 'the domain vouchers has no job vouchers.remid; its jobs: none'],
    ['undeclared', 'vouchers.issue refused with STATE.CONFLICT, which it does not declare in `refuses`'],
  ])(
    'vouchers.issue 500 SYSTEM.INTERNAL_ERROR: invalid %s rolls back, and a retry fails alike',
    async (mistake, log) => {
      await expectNothing(mistake, fault)
      await expect.poll(output).toContain(log)
    },
  )

  test('vouchers.issue 500 SYSTEM.INTERNAL_ERROR: 24 commands that never settle keep no connection', async () => {
    const before = await counts()
    const hung = Array.from({ length: 24 }, () => issue('never'))
    const statuses = (await Promise.all(hung)).map(({ status }) => status)
    expect(statuses).toContain(fault[0])
    expect(await counts()).toEqual(before)
    expect((await issue('none')).status).toBe(200)
    await expect.poll(output).toContain('vouchers.issue kept its transaction open for 10 s')
  }, 60_000)

  test('vouchers.issue 200: a rejection that nobody awaits is logged, and the process continues', async () => {
    expect((await issue('forgottenRejection')).status).toBe(200)
    await expect.poll(output).toContain('nobody awaits this')
    await pause(300)
    expect(output()).not.toContain('fatal error')
    expect((await issue('none')).status).toBe(200)
  })

  test('vouchers.issue 409 VOUCHER.SPENT: a declared refusal rolls back', async () => {
    await expectNothing('spent', [409, 'VOUCHER.SPENT'])
  })

  test('vouchers.issue 200: a retry gets the stored reply, without undeclared fields', async () => {
    const before = await counts()
    const requestId = randomUUID()
    const first = await issue('unlistedField', requestId)
    expect([first.status, Object.keys(first.body.data).sort()]).toEqual([200, ['bizId', 'note']])
    expect((await issue('unlistedField', requestId)).body.data).toEqual(first.body.data)
    expect(await counts()).toEqual({ ...before, vouchers: before.vouchers + 1 })
  })

  test('vouchers.issue 200: a retry with the same Idempotency-Key and another X-Request-Id takes effect once', async () => {
    const before = await counts()
    const key = randomUUID()
    const send = () => {
      const headers = { 'x-request-id': randomUUID(), 'idempotency-key': `"${key}"` }
      return own('POST', '/vouchers', { headers, body: { mistake: 'none' } })
    }
    const first = await send()
    expect([first.status, (await send()).body.data]).toEqual([200, first.body.data])
    expect(await counts()).toEqual({ ...before, vouchers: before.vouchers + 1 })
  })

  test.each(['throwsAfterwards', 'changesAfterwards'])(
    'vouchers.issue 200: a handler that %s the commit gets the stored reply, as its retry does',
    async (mistake) => {
      const before = await counts()
      const requestId = randomUUID()
      const first = await issue(mistake, requestId)
      expect([first.status, first.body.data.note]).toEqual([200, ''])
      expect((await issue(mistake, requestId)).body.data).toEqual(first.body.data)
      expect(await counts()).toEqual({ ...before, vouchers: before.vouchers + 1 })
      await expect.poll(output).toContain('a handler failed after its command was committed')
    },
  )

  const lend = (body: object, requestId: string) =>
    own('POST', '/vouchers/lend', { headers: { 'x-request-id': requestId }, body })

  // The gateway checks the replies of a domain service itself, at each attempt.
  test('vouchers.lend 200: a stored reply is not checked again, when its schema would refuse it', async () => {
    const requestId = randomUUID()
    const first = await lend({ forMs: 3_000 }, requestId)
    expect([first.status, Object.keys(first.body.data).sort()]).toEqual([200, ['terms', 'until']])
    expect(first.body.data.terms).toEqual({ days: 1 })
    await pause(Math.max(0, Date.parse(first.body.data.until) - Date.now()) + 10)
    const again = await lend({ forMs: 3_000 }, requestId)
    expect([again.status, again.body.data]).toEqual([200, first.body.data])
  })

  test('vouchers.lend 500 SYSTEM.INTERNAL_ERROR: a reply whose JSON violates its schema rolls back', async () => {
    const before = await counts()
    const requestId = randomUUID()
    for (let attempt = 1; attempt <= 2; attempt++) expect(outcome(await lend({}, requestId))).toEqual(fault)
    expect(await counts()).toEqual(before)
  })

  test('vouchers.issue 409 VOUCHER.SPENT: a handler can refuse after the commit', async () => {
    const before = await counts()
    expect(outcome(await issue('refusesAfterwards'))).toEqual([409, 'VOUCHER.SPENT'])
    expect(await counts()).toEqual({ ...before, vouchers: before.vouchers + 1 })
  })

  test('vouchers.issue 200: work that outlives its transaction can use `database`', async () => {
    const { detached } = await counts()
    expect((await issue('detached')).status).toBe(200)
    await expect.poll(async () => (await counts()).detached).toBe(detached + 1)
  })

  test('vouchers.count 500 SYSTEM.INTERNAL_ERROR: a refusal without a declaration, and a reply above the limit', async () => {
    expect(outcome(await own('GET', '/vouchers?mistake=undeclared'))).toEqual(fault)
    await expect.poll(output).toContain('vouchers.count refused with VOUCHER.SPENT, which it does not declare')
    expect(outcome(await own('GET', '/vouchers?mistake=size'))).toEqual(fault)
    await expect.poll(output).toMatch(/reply has 60000\d\d bytes, more than the maximum of 5242880/)
    expect((await own('GET', '/vouchers')).status).toBe(200)
  })
})
