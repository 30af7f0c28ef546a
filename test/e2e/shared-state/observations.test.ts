import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest'
import { developmentIds } from '../../../src/seed/development.ts'
import { send } from '../../harness/http.ts'
import { needsStore } from '../../harness/needs.ts'
import { type Portico, startPortico } from '../../harness/portico.ts'
import { askRedis } from '../../harness/redis.ts'
import { type Session, signIn } from '../../harness/sign-in.ts'

interface Listed {
  requestId: string
  at: string
}

describe('observations', needsStore(), () => {
  let portico: Portico
  let operator: Session
  let owner: Session
  const isDistributed = inject('topology') === 'distributed'

  beforeAll(async () => {
    portico = await startPortico()
    operator = await signIn(portico, 'operator@demo.test')
    owner = await signIn(portico)
  })
  afterAll(() => portico?.stop())

  const read = async (path: string, url = portico.urls[0] ?? '') => {
    const answer = await send(url, 'GET', `/web/v1/system${path}`, { token: operator.accessToken })
    expect(answer.status, answer.text).toBe(200)
    return answer.body.data
  }
  /** Through the last gateway, whereas `read` asks the first one. */
  const sessions = async (requestId: string, token?: string) =>
    send(portico.urls.at(-1) ?? '', 'GET', '/web/v1/consumer/security/sessions', {
      headers: { 'x-request-id': requestId },
      ...(token !== undefined && { token }),
    })
  const idsOf = ({ items }: { items: Listed[] }) => items.map(({ requestId }) => requestId)

  test('observations.listRequests 200: any gateway lists the requests of every gateway', async () => {
    const [passed, refused] = [randomUUID(), randomUUID()]
    expect((await sessions(passed, owner.accessToken)).status).toBe(200)
    expect((await sessions(refused)).status).toBe(401)
    const list = await read('/requests')
    expect(list.missing).toEqual([])
    expect(idsOf(list).filter((id) => id === passed || id === refused)).toEqual([refused, passed])
    expect(list.items.find((item: Listed) => item.requestId === passed)).toEqual({
      replica: expect.any(String),
      requestId: passed,
      at: expect.stringMatching(/Z$/),
      operation: 'sessions.list',
      chain: 'consumer',
      accountBizId: expect.any(String),
      workspaceBizId: null,
      outcome: 'passed',
      status: 200,
      code: null,
      ms: expect.any(Number),
    })
  })

  test('observations.listRequests 200: each filter selects, and the filters combine', async () => {
    const [passed, refused, unmatched] = [randomUUID(), randomUUID(), randomUUID()]
    await sessions(passed, owner.accessToken)
    await sessions(refused)
    await send(portico.urls.at(-1) ?? '', 'GET', '/web/v1/consumer/nothing', {
      headers: { 'x-request-id': unmatched },
    })
    const found = async (query: string) =>
      idsOf(await read(`/requests?pageSize=200&${query}`)).filter(
        (id) => id === passed || id === refused || id === unmatched,
      )
    const [{ accountBizId }] = (await read(`/requests?requestId=${passed}`)).items
    expect(await found(`accountId=${accountBizId}`)).toEqual([passed])
    expect(await found('outcome=refused')).toEqual([unmatched, refused])
    expect(await found('outcome=refused&operation=sessions.list')).toEqual([refused])
    expect(await found('code=ROUTE.NOT_FOUND')).toEqual([unmatched])
    expect(await found(`requestId=${refused}`)).toEqual([refused])
    expect(await found('outcome=failed')).toEqual([])
    expect(await found('outcome=abandoned')).toEqual([])
    expect(await found('startTime=2100-01-01T00:00:00Z')).toEqual([])
    expect(await found('endTime=2000-01-01T00:00:00Z')).toEqual([])
  })

  test('observations.listRequests 200: a workspace selects its requests', async () => {
    const requestId = randomUUID()
    await send(portico.urls.at(-1) ?? '', 'GET', '/web/v1/consumer/wallets', {
      token: owner.accessToken,
      workspace: developmentIds.workspace,
      headers: { 'x-request-id': requestId },
    })
    const { items } = await read(`/requests?workspaceId=${developmentIds.workspace}&operation=wallets.list`)
    expect(items[0]).toMatchObject({ requestId, workspaceBizId: developmentIds.workspace })
    expect(idsOf(await read(`/requests?workspaceId=${randomUUID()}`))).toEqual([])
  })

  test('observations.listRequests 200: pages by cursor return each request once, over all gateways', async () => {
    const sent = Array.from({ length: 7 }, () => randomUUID())
    await Promise.all(
      sent.map((requestId, index) =>
        send(portico.urls[index % portico.urls.length] ?? '', 'GET', '/web/v1/consumer/recharges', {
          headers: { 'x-request-id': requestId },
        }),
      ),
    )
    const listed: string[] = []
    let before = 'start'
    do {
      const page = await read(`/requests?operation=recharges.list&pageSize=2&before=${before}`)
      expect(page.items.length).toBeLessThanOrEqual(2)
      listed.push(...idsOf(page))
      before = page.nextCursor
    } while (before !== null)
    expect(listed.toSorted()).toEqual(sent.toSorted())
  })

  test.each(['pageSize=0', 'pageSize=201', 'before=1_0190-', 'outcome=lost', 'accountId=x', 'sortBy=at'])(
    'observations.listRequests 400 VALIDATION.INVALID_PARAMETER: %s',
    async (query) => {
      const answer = await portico.call('GET', `/web/v1/system/requests?${query}`, { token: operator.accessToken })
      expect([answer.status, answer.body.code]).toEqual([400, 'VALIDATION.INVALID_PARAMETER'])
    },
  )

  test('observations.readRequest 200: shows the stages of a request without internal reasons', async () => {
    const requestId = randomUUID()
    await send(portico.urls.at(-1) ?? '', 'GET', '/web/v1/consumer/security/sessions/history?pageSize=x', {
      token: owner.accessToken,
      headers: { 'x-request-id': requestId },
    })
    const { decisions, missing } = await read(`/requests/decisions?requestId=${requestId}`)
    expect(missing).toEqual([])
    expect(decisions).toMatchObject([
      { requestId, operation: 'sessions.history', status: 400, code: 'VALIDATION.INVALID_PARAMETER', hooks: [] },
    ])
    const [{ stages }] = decisions
    const refusing = stages.find(({ verdict }: { verdict: string }) => verdict === 'refused')
    expect(refusing).toMatchObject({ stage: 'validate' })
    const shown = await (await fetch(`${portico.operationsUrl}/explain/${requestId}`)).json()
    expect(shown[0].internal).toEqual(expect.any(String))
    expect(JSON.stringify(decisions)).not.toContain(shown[0].internal)
  })

  test('observations.readRequest 404 RESOURCE.NOT_FOUND: no replica knows the request', async () => {
    const path = `/web/v1/system/requests/decisions?requestId=${randomUUID()}`
    const answer = await portico.call('GET', path, { token: operator.accessToken })
    expect([answer.status, answer.body.code]).toEqual([404, 'RESOURCE.NOT_FOUND'])
  })

  test('observations.readOverview 200: counts the requests of every gateway in the current hour', async () => {
    const sum = ({ minutes }: { minutes: { requests: number; refused: number }[] }) =>
      minutes.reduce(
        (total, { requests, refused }) => ({
          requests: total.requests + requests,
          refused: total.refused + refused,
        }),
        { requests: 0, refused: 0 },
      )
    const before = sum(await read('/overview'))
    for (const url of portico.urls) await send(url, 'GET', '/web/v1/consumer/security/sessions')
    const overview = await read('/overview')
    const after = sum(overview)
    // The first reading counts, too.
    expect(after.requests - before.requests).toBe(portico.urls.length + 1)
    expect(after.refused - before.refused).toBe(portico.urls.length)
    expect(overview.minutes).toHaveLength(60)
    expect(overview.minutes.some(({ p99Ms }: { p99Ms: number | null }) => p99Ms !== null && p99Ms > 0)).toBe(true)
  })

  test('observations.readOverview 200: shows replicas, health, sessions and what waits for operators', async () => {
    const overview = await read('/overview')
    const roles = overview.replicas.map(({ role }: { role: string }) => role).toSorted()
    expect(roles).toEqual(isDistributed ? ['domains', 'gateway', 'gateway'] : ['gateway'])
    expect(overview.replicas[0]).toMatchObject({
      readiness: 'ready',
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      checks: expect.arrayContaining([{ name: 'store', result: 'ok' }]),
    })
    expect(overview.sessions).toEqual([
      { portal: 'CONSUMER', open: expect.any(Number) },
      { portal: 'SYSTEM', open: expect.any(Number) },
    ])
    expect(overview.sessions[1].open).toBeGreaterThan(0)
    expect(overview.audit).toMatchObject({ head: expect.stringMatching(/^\d+:[0-9a-f]{64}$/) })
    expect(overview.queues.map(({ queue }: { queue: string }) => queue)).toEqual([
      'TRANSFER_APPROVAL',
      'RECHARGE_CONFIRMATION',
      'WITHDRAWAL_APPROVAL',
      'WITHDRAWAL_SETTLEMENT',
      'PAYOUT_ACCOUNT_VERIFICATION',
      'ACCOUNT_APPROVAL',
      'PROPOSAL_CONFIRMATION',
    ])
  })

  test('observations 200: a replica that is gone is named', needsStore('distributed'), async () => {
    const { redisUrl } = portico.settings
    const { pathname, port } = new URL(redisUrl?.reveal() ?? '')
    const message = { deployment: pathname, from: randomUUID(), name: 'gone-1', kind: 'here' }
    await askRedis(Number(port), `PUBLISH portico:replicas ${JSON.stringify(JSON.stringify(message))}`)
    const gone = { replica: 'gone-1', lastSeenAt: expect.stringMatching(/Z$/) }
    await vi.waitUntil(async () => (await read('/overview')).missing.length > 0, { timeout: 20_000 })
    expect((await read('/requests')).missing).toEqual([gone])
    // Only the missing replica may know the request.
    expect(await read(`/requests/decisions?requestId=${randomUUID()}`)).toEqual({ decisions: [], missing: [gone] })
  })
})
