import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { developmentIds } from '../../../src/seed/development.ts'
import { type Extended, startExtended } from '../../harness/extended.ts'
import { type Answer, type Call, send } from '../../harness/http.ts'
import { type LabelService, refuse, replyJson, replyLabel, startLabelService } from '../../harness/label-service.ts'
import { needsStore } from '../../harness/needs.ts'
import { openSealed } from '../../harness/sealed.ts'
import { outboxOf, signIn, signInOnly } from '../../harness/sign-in.ts'

const { workspace } = developmentIds
const timeoutMs = 5_000

describe('commands of a service behind a document', needsStore(), () => {
  let deployment: Extended
  let service: LabelService
  let owner: string
  let operator: string
  let turn = 0
  /** Uses the gateways in turn. */
  const call = (method: string, path: string, options?: Call): Promise<Answer> => {
    const gateway = deployment.gateways[turn++ % deployment.gateways.length]
    if (!gateway) throw new Error('no gateway')
    return send(gateway.url, method, path, options)
  }
  const create = (requestId: string, note = 'a', more: Call = {}) =>
    call('POST', '/web/v1/consumer/labels', {
      token: owner,
      workspace,
      headers: { 'x-request-id': requestId },
      body: { note },
      ...more,
    })
  const outcome = ({ status, body }: Answer) => [status, body.code]
  const entriesOf = async (requestId: string, action = 'labels.create') => {
    const path = `/web/v1/system/audit-log?action=${action}&pageSize=100`
    const { body } = await call('GET', path, { token: operator })
    return body.data.items
      .filter((each: { requestId: string }) => each.requestId === requestId)
      .map(({ outcome: result, detail }: { outcome: { code: string }; detail: { reason?: string } }) =>
        [result.code, detail.reason].filter(Boolean).join(' '),
      )
  }

  /** At all gateways. */
  const replayed = async () => {
    const series = /^portico_service_commands_replayed_total\{operation="labels.create"\} (\d+)$/m
    const texts = deployment.gateways.map(async (each) => (await fetch(`${each.operationsUrl}/metrics`)).text())
    return (await Promise.all(texts)).reduce((sum, text) => sum + Number(series.exec(text)?.[1] ?? 0), 0)
  }

  beforeAll(async () => {
    service = await startLabelService()
    deployment = await startExtended(
      {
        operations: ['test/harness/labels.yaml'],
        backends: { labels: { url: service.url, audience: 'labels', timeoutMs } },
      },
      { PORTICO_RATE_LIMIT_SCALE: '1000' },
    )
    const [first] = deployment.gateways
    if (!first) throw new Error('no gateway')
    const clients = { call, mailTo: outboxOf(first) }
    owner = (await signIn(clients)).accessToken
    operator = (await signIn(clients, 'operator@demo.test')).accessToken
  })
  afterAll(async () => {
    await deployment?.stop()
    service?.close()
  })
  beforeEach(() => {
    service.seen = []
    service.reply = replyLabel
  })

  test('labels.create 200: a retry gets the stored reply, without undeclared fields', async () => {
    const id = randomUUID()
    const first = await create(id)
    expect([first.status, first.body.data]).toEqual([200, { number: 1, note: 'a' }])
    const retry = await create(id)
    expect([retry.status, retry.body.data]).toEqual([200, { number: 1, note: 'a' }])
    expect(service.seen).toHaveLength(1)
    expect(await entriesOf(id)).toEqual(['SUCCESS'])
  })

  test('labels.create 200: portico_service_commands_replayed_total counts stored replies only', async () => {
    const before = await replayed()
    const id = randomUUID()
    await create(id)
    await create(id, 'b')
    expect((await replayed()) - before).toBe(0)
    await create(id)
    await create(id)
    expect((await replayed()) - before).toBe(2)
  })

  test('labels.create 422 REQUEST.ID_REUSED: another body with the same id', async () => {
    const id = randomUUID()
    await create(id)
    expect(outcome(await create(id, 'b'))).toEqual([422, 'REQUEST.ID_REUSED'])
    expect(service.seen).toHaveLength(1)
  })

  test('labels.create 409 REQUEST.IN_PROGRESS: parallel requests at all replicas, one of them is forwarded', async () => {
    const id = randomUUID()
    const othersRefused = Promise.withResolvers<void>()
    service.reply = async (request, response, number) => {
      await othersRefused.promise
      replyLabel(request, response, number)
    }
    let refused = 0
    const createOnce = async () => {
      const reply = await create(id)
      if (reply.status === 409 && ++refused === 7) othersRefused.resolve()
      return reply
    }
    const replies = await Promise.all(Array.from({ length: 8 }, createOnce))
    expect(replies.map(outcome).sort()).toEqual([
      [200, '2000'],
      ...Array.from({ length: 7 }, () => [409, 'REQUEST.IN_PROGRESS']),
    ])
    expect(service.seen).toHaveLength(1)
    expect((await create(id)).body.data.number).toBe(1)
  })

  test('labels.create 409 LABEL.TAKEN: a refusal is audited but not stored, as with once', async () => {
    const id = randomUUID()
    service.reply = (_request, response) => refuse(response, 409, 'LABEL.TAKEN')
    expect(outcome(await create(id))).toEqual([409, 'LABEL.TAKEN'])
    service.reply = replyLabel
    expect((await create(id, 'b')).body.data).toEqual({ number: 2, note: 'b' })
    expect((await entriesOf(id)).sort()).toEqual(['REFUSED LABEL.TAKEN', 'SUCCESS'])
  })

  test.each<[string, LabelService['reply'], number, string]>([
    ['a timeout', () => undefined, 504, 'SYSTEM.UPSTREAM_TIMEOUT'],
    ['a broken reply', (_, response) => response.destroy(), 502, 'SYSTEM.UPSTREAM_INVALID_RESPONSE'],
    ['an invalid reply', (_, response) => replyJson(response, 200, {}), 502, 'SYSTEM.UPSTREAM_INVALID_RESPONSE'],
    [
      'an undeclared refusal',
      (_, response) => refuse(response, 409, 'STATE.CONFLICT'),
      502,
      'SYSTEM.UPSTREAM_INVALID_RESPONSE',
    ],
  ])('labels.create: after %s, only the same body is sent again, with the same id', async (_, reply, status, code) => {
    const id = randomUUID()
    service.reply = reply
    expect(outcome(await create(id))).toEqual([status, code])
    service.reply = replyLabel
    expect(outcome(await create(id, 'b'))).toEqual([422, 'REQUEST.ID_REUSED'])
    expect(outcome(await create(id))).toEqual([200, '2000'])
    expect(outcome(await create(id))).toEqual([200, '2000'])
    expect(service.seen.map(({ requestId }) => requestId)).toEqual([id, id])
    expect((await entriesOf(id)).sort()).toEqual([`REFUSED ${code}`, 'SUCCESS'])
  })

  test('labels.create: Idempotency-Key identifies a command, also at the service, and X-Request-Id names it', async () => {
    const [key, first, second, third] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()]
    const send = (requestId: string, note = 'a') =>
      create(requestId, note, { headers: { 'x-request-id': requestId, 'idempotency-key': key } })
    service.reply = (_request, response) => response.destroy()
    expect((await send(first)).status).toBe(502)
    service.reply = replyLabel
    expect(outcome(await send(second, 'b'))).toEqual([422, 'REQUEST.ID_REUSED'])
    const { data } = (await send(second)).body
    expect((await send(third)).body.data).toEqual(data)
    expect(service.seen.map(({ requestId, key: sent }) => [requestId, sent])).toEqual([
      [first, `"${key}"`],
      [second, `"${key}"`],
    ])
    expect(await entriesOf(second)).toEqual(['SUCCESS'])
  })

  test('labels.create 200: a service gets Idempotency-Key also for a request with X-Request-Id only', async () => {
    const id = randomUUID()
    await create(id)
    expect(service.seen.map(({ key }) => key)).toEqual([`"${id}"`])
  })

  test('labels.create 409 LABEL.TAKEN: a refusal after an unknown outcome keeps the id for the same body', async () => {
    const id = randomUUID()
    service.reply = (_request, response) => response.destroy()
    await create(id)
    service.reply = (_request, response) => refuse(response, 409, 'LABEL.TAKEN')
    expect(outcome(await create(id))).toEqual([409, 'LABEL.TAKEN'])
    expect(outcome(await create(id, 'b'))).toEqual([422, 'REQUEST.ID_REUSED'])
  })

  test('labels.create 200: the id of another workspace or account is another command', async () => {
    const id = randomUUID()
    const { bizId: other } = (
      await call('POST', '/web/v1/consumer/workspaces', {
        token: owner,
        body: { workspaceName: 'Other', workspaceKind: 'LIVE' },
      })
    ).body.data
    expect((await create(id)).body.data.number).toBe(1)
    expect((await create(id, 'a', { workspace: other })).body.data.number).toBe(2)
    expect((await create(id, 'b', { workspace: other })).body.code).toBe('REQUEST.ID_REUSED')
  })

  test('labels.create 400: a request that is refused before the service leaves its id unused', async () => {
    const id = randomUUID()
    expect(outcome(await create(id, 'a', { body: { note: 'a', colour: 'red' } }))).toEqual([
      400,
      'VALIDATION.INVALID_PARAMETER',
    ])
    expect((await create(id)).body.data.number).toBe(1)
  })

  test('labels.create 403 ACCESS.PERMISSION_DENIED: one audit entry', async () => {
    const [first] = deployment.gateways
    if (!first) throw new Error('no gateway')
    const { accessToken: token } = await signIn({ call, mailTo: outboxOf(first) }, 'member@demo.test')
    const id = randomUUID()
    expect(outcome(await create(id, 'a', { token }))).toEqual([403, 'ACCESS.PERMISSION_DENIED'])
    await expect.poll(() => entriesOf(id)).toEqual(['REFUSED ACCESS.PERMISSION_DENIED'])
    expect(service.seen).toEqual([])
  })

  test('labels.create 200: the id of another account in the same workspace is its own command', async () => {
    const [first] = deployment.gateways
    if (!first) throw new Error('no gateway')
    const { accessToken: token } = await signIn({ call, mailTo: outboxOf(first) }, 'member@demo.test')
    const { bizId: userBizId } = (await call('GET', '/web/v1/consumer/profile', { token })).body.data
    const change = async (roleBizId: string) => {
      const body = { userBizId, roleBizId }
      const changed = await call('POST', '/web/v1/consumer/roles/members/role/change', {
        token: owner,
        workspace,
        body,
      })
      expect(changed.status, changed.text).toBe(200)
    }
    const role = { roleName: 'Labels', permissionCodes: ['label:create'] }
    const { bizId } = (await call('POST', '/web/v1/consumer/roles', { token: owner, workspace, body: role })).body.data
    await change(bizId)
    const id = randomUUID()
    expect((await create(id, 'of the owner')).body.data).toEqual({ number: 1, note: 'of the owner' })
    const own = await create(id, 'of the owner', { token })
    expect([own.status, own.body.data]).toEqual([200, { number: 2, note: 'of the owner' }])
    const [otherBody, again] = [await create(id, 'b', { token }), await create(id, 'of the owner', { token })]
    expect([otherBody.body.code, again.body.data.number]).toEqual(['REQUEST.ID_REUSED', 2])
    expect((await create(id, 'of the owner')).body.data.number).toBe(1)
    expect(service.seen).toHaveLength(2)
    expect(await entriesOf(id)).toEqual(['SUCCESS', 'SUCCESS'])
    await change(developmentIds.memberRole)
  })

  test('labels.print 200: a command with a file as its reply forwards its JSON body, and is audited', async () => {
    const id = randomUUID()
    service.reply = (_request, response) => response.writeHead(200, { 'content-type': 'application/pdf' }).end('%PDF')
    const options = { token: owner, workspace, headers: { 'x-request-id': id }, body: { note: '标签' } }
    const printed = await call('POST', '/web/v1/consumer/labels/print', options)
    expect([printed.status, printed.text]).toEqual([200, '%PDF'])
    expect(service.seen).toEqual([expect.objectContaining({ length: '17', body: { note: '标签' } })])
    expect(await entriesOf(id, 'labels.print')).toEqual(['SUCCESS'])
    service.reply = (_request, response) => refuse(response, 409, 'LABEL.TAKEN')
    expect(outcome(await call('POST', '/web/v1/consumer/labels/print', options))).toEqual([409, 'LABEL.TAKEN'])
    expect((await entriesOf(id, 'labels.print')).sort()).toEqual(['REFUSED LABEL.TAKEN', 'SUCCESS'])
  })
})

describe('commands of a service through a mandatory secure channel', needsStore(), () => {
  let deployment: Extended
  let service: LabelService
  let token: string
  let turn = 0
  const call = (method: string, path: string, options?: Call): Promise<Answer> => {
    const gateway = deployment.gateways[turn++ % deployment.gateways.length]
    if (!gateway) throw new Error('no gateway')
    return send(gateway.url, method, path, options)
  }
  const optionsOf = (requestId: string, note: string): Call => ({
    token,
    workspace,
    headers: { 'x-request-id': requestId },
    body: { note },
  })

  beforeAll(async () => {
    service = await startLabelService()
    deployment = await startExtended(
      {
        operations: ['test/harness/labels.yaml'],
        backends: { labels: { url: service.url, audience: 'labels', timeoutMs } },
        portals: { CONSUMER: { channelMandatory: ['general'] } },
      },
      { PORTICO_RATE_LIMIT_SCALE: '1000' },
    )
    const [first] = deployment.gateways
    if (!first) throw new Error('no gateway')
    const post = await openSealed(call)
    const sealed = (_method: string, path: string, options: Call = {}) => post(path, options)
    token = (await signInOnly({ call: sealed, mailTo: outboxOf(first) })).accessToken
  })
  afterAll(async () => {
    await deployment?.stop()
    service?.close()
  })
  beforeEach(() => {
    service.seen = []
    service.reply = replyLabel
  })

  test('labels.create 200: a retry in another channel session gets the stored reply, encrypted again', async () => {
    const id = randomUUID()
    const replies: Answer[] = []
    for (let session = 0; session < 2; session++) {
      const post = await openSealed(call)
      replies.push(await post('/web/v1/consumer/labels', optionsOf(id, 'a')))
    }
    expect(replies.map(({ status, body }) => [status, body.data])).toEqual([
      [200, { number: 1, note: 'a' }],
      [200, { number: 1, note: 'a' }],
    ])
    const post = await openSealed(call)
    expect((await post('/web/v1/consumer/labels', optionsOf(id, 'b'))).body.code).toBe('REQUEST.ID_REUSED')
    expect(service.seen.map(({ body }) => body)).toEqual([{ note: 'a' }])
  })

  test('labels.create 400 SECURE_CHANNEL.INVALID_PAYLOAD: a plain retry does not get the stored reply', async () => {
    const id = randomUUID()
    const post = await openSealed(call)
    expect((await post('/web/v1/consumer/labels', optionsOf(id, 'a'))).status).toBe(200)
    const plain = await call('POST', '/web/v1/consumer/labels', optionsOf(id, 'a'))
    expect([plain.status, plain.body.code]).toEqual([400, 'SECURE_CHANNEL.INVALID_PAYLOAD'])
  })

  test('labels.print 200: an encrypted command whose reply is a file, each time it is sent', async () => {
    service.reply = (_request, response) => response.writeHead(200, { 'content-type': 'application/pdf' }).end('%PDF')
    const post = await openSealed(call)
    const id = randomUUID()
    for (let attempt = 1; attempt <= 2; attempt++) {
      const printed = await post('/web/v1/consumer/labels/print', optionsOf(id, '标签'), 'plain')
      expect([printed.status, printed.text]).toEqual([200, '%PDF'])
    }
    expect(service.seen.map(({ body, requestId }) => [body, requestId])).toEqual([
      [{ note: '标签' }, id],
      [{ note: '标签' }, id],
    ])
  })

  test('labels.print 400 VALIDATION.INVALID_PARAMETER: no plain file where an encrypted reply is required', async () => {
    const post = await openSealed(call)
    const refused = await post('/web/v1/consumer/labels/print', optionsOf(randomUUID(), 'a'))
    expect([refused.status, refused.body.code]).toEqual([400, 'VALIDATION.INVALID_PARAMETER'])
    expect(service.seen).toEqual([])
  })
})
