import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../../src/seed/development.ts'
import { type Extended, startExtended } from '../../harness/extended.ts'
import { type Answer, type Call, send } from '../../harness/http.ts'
import { inTopology, needsStore } from '../../harness/needs.ts'
import type { DevelopmentMail } from '../../harness/portico.ts'
import { outboxOf, signIn } from '../../harness/sign-in.ts'

const { workspace } = developmentIds
const toolbox = { extensions: ['./test/harness/extensions/toolbox/index.js'], domains: { toolbox: { maxSpends: 4 } } }

/** The declared limits of 4 allow 2 requests. */
const variables = { PORTICO_RATE_LIMIT_SCALE: '0.5' }

describe('an extension that uses every port', needsStore(), () => {
  let deployment: Extended
  let owner: string
  let operator: string
  let turn = 0
  /** Uses the gateways in turn. */
  const call = (method: string, path: string, options?: Call): Promise<Answer> => {
    const { gateways } = deployment
    const gateway = gateways[turn++ % gateways.length]
    if (!gateway) throw new Error('no gateway')
    return send(gateway.url, method, path, options)
  }
  const mailsTo = async (address: string): Promise<DevelopmentMail[]> => {
    const [gateway] = deployment.gateways
    const mails: DevelopmentMail[] = await (await fetch(`${gateway?.operationsUrl}/mail.json`)).json()
    return mails.filter(({ to }) => to === address)
  }
  const member = (method: string, path: string, options: Call = {}) =>
    call(method, `/web/v1/consumer${path}`, { token: owner, workspace, ...options })
  const create = async (note = 'a note'): Promise<string> => {
    const created = await member('POST', '/tools', { body: { note } })
    expect(created.status, created.text).toBe(200)
    return created.body.data.bizId
  }

  beforeAll(async () => {
    deployment = await startExtended(toolbox, variables)
    const [first] = deployment.gateways
    if (!first) throw new Error('no gateway')
    const mailTo = outboxOf(first)
    owner = (await signIn({ call, mailTo })).accessToken
    operator = (await signIn({ call, mailTo }, 'operator@demo.test')).accessToken
  })
  afterAll(() => deployment?.stop())

  test('migrations run once if two processes start at the same time', () => {
    const { migrated, processes } = deployment
    const outputs = migrated.length > 0 ? migrated.map(({ out }) => out) : processes.map((each) => each.output())
    expect(migrated.map(({ code, err }) => [code, err])).toEqual(migrated.map(() => [0, '']))
    expect(outputs.filter((output) => output.includes('toolbox/001-tools'))).toHaveLength(1)
    expect(outputs.filter((output) => output.includes('toolbox/002-tools-by-id'))).toHaveLength(1)
  })

  test('blobs, database: a row and a file of the workspace', async () => {
    const id = await create('kept on disk')
    const read = await member('GET', `/tools/${id}`)
    expect(read.body.data).toMatchObject({ bizId: id, note: 'kept on disk' })
    const unknown = await member('GET', `/tools/${randomUUID()}`)
    expect([unknown.status, unknown.body.code]).toEqual([404, 'RESOURCE.NOT_FOUND'])
    const removed = await member('POST', `/tools/${id}/remove`)
    expect(removed.body.data).toEqual({ removed: true })
    expect((await member('GET', `/tools/${id}`)).status).toBe(404)
  })

  test('ownerNotices: each owner gets an email with the texts of the domain', async () => {
    const id = await create('TOOL_MADE')
    const texts = async () => (await mailsTo('owner@demo.test')).map(({ text }) => text)
    const ofTool = async () => (await texts()).filter((text) => text.includes(`Subject: ${id}`))
    await expect.poll(ofTool, { timeout: 10_000 }).toHaveLength(1)
    expect(await ofTool()).toEqual([expect.stringMatching(/A tool has been made\.[\s\S]*Put the tool away\./)])
  })

  test('toolbox.create 500: refuses a notice that no domain declares', async () => {
    const { status } = await member('POST', '/tools', { body: { note: 'TOOL_LOST' } })
    // The gateway answers 502 for a domain service.
    expect([500, 502]).toContain(status)
    const output = () => deployment.processes.map((each) => each.output()).join()
    await expect.poll(output).toContain('no domain declares the notice TOOL_LOST')
  })

  test('jobs, mailer: a failed job is repeated, and a second job sends the mail', async () => {
    const id = await create()
    await expect.poll(async () => (await member('GET', `/tools/${id}`)).body.data.status).toBe('PRINTED')
    expect((await member('GET', `/tools/${id}`)).body.data.attempts).toBe(2)
    await expect
      .poll(async () => (await mailsTo('owner@demo.test')).map(({ text }) => text).join())
      .toContain(`The tool ${id} was printed`)
    const output = () => deployment.processes.map((each) => each.output()).join()
    await expect.poll(output).toContain('tool printed')
  })

  test('once, audit: one entry per X-Request-Id', async () => {
    const headers = { 'x-request-id': randomUUID() }
    const [first, second] = [
      await member('POST', '/tools', { headers, body: { note: 'once' } }),
      await member('POST', '/tools', { headers, body: { note: 'once' } }),
    ]
    expect(second.body.data).toEqual(first.body.data)
    const entries = await call('GET', '/web/v1/system/audit-log?action=toolbox.create', { token: operator })
    expect(entries.status, entries.text).toBe(200)
    const ofTool = entries.body.data.items.filter(
      ({ targetBizId }: { targetBizId: string }) => targetBizId === first.body.data.bizId,
    )
    expect(ofTool).toHaveLength(1)
    expect(ofTool[0]).toMatchObject({ action: 'toolbox.create', workspaceBizId: workspace })
  })

  test('cache: a text until its TTL ends, and a counter', async () => {
    const cache = async (text: string, ttlMs = 60_000) =>
      (await member('POST', '/tools/cache', { body: { text, ttlMs } })).body.data
    expect(await cache('one')).toEqual({ before: null, after: 'one', count: 1 })
    expect(await cache('two')).toEqual({ before: 'one', after: 'two', count: 2 })
    expect(await cache('')).toEqual({ before: 'two', after: null, count: 3 })
    await cache('short', 200)
    await pause(300)
    expect((await cache('three')).before).toBeNull()
  })

  test('limits 422 TOOL.WORN: a limit of the domain, multiplied by the scale', async () => {
    const spend = () => member('POST', '/tools/spend')
    expect((await spend()).body.data).toEqual({ remaining: 1 })
    expect((await spend()).body.data).toEqual({ remaining: 0 })
    const worn = await spend()
    expect([worn.status, worn.body.code]).toEqual([422, 'TOOL.WORN'])
  })

  test('refusals and texts: a language without the text gets the English one', async () => {
    const sentences = ['en', 'zh', 'zh-Hant', 'ja', 'vi'].map(async (locale) => {
      const { body } = await member('POST', '/tools/spend', { headers: { 'x-locale': locale } })
      return [locale, body.message]
    })
    const english = 'the tool is worn out'
    expect(Object.fromEntries(await Promise.all(sentences))).toEqual({
      en: english,
      zh: english,
      'zh-Hant': '工具已損壞',
      ja: english,
      vi: english,
    })
  })

  test('rate group 429 ACCESS.RATE_LIMITED: the declared limit, multiplied by the scale, with metric', async () => {
    const japanese = { headers: { 'x-locale': 'ja' } }
    const first = await member('GET', '/tools/rate', japanese)
    expect(first.body.data).toEqual({ greeting: 'Hello' })
    expect(first.headers.get('ratelimit-policy')).toBe('"tools-account";q=2;w=3600')
    expect((await member('GET', '/tools/rate')).status).toBe(200)
    const refused = await member('GET', '/tools/rate')
    expect([refused.status, refused.body.code]).toEqual([429, 'ACCESS.RATE_LIMITED'])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    const scraped = await Promise.all(
      deployment.gateways.map(async ({ operationsUrl }) => (await fetch(`${operationsUrl}/metrics`)).text()),
    )
    expect(scraped.join()).toContain('portico_limit_hits_total{limit="tools-account"} 1')
    const document = await (await fetch(`${deployment.gateways[0]?.url}/openapi.json`)).json()
    expect(document.paths['/web/v1/consumer/tools/rate'].get.description).toContain('rate limit `tools`')
    expect(document['x-portico'].rateGroups.tools).toEqual({ account: { limit: 4, windowMs: 3_600_000 } })
  })

  test('people-only permission: a role can hold it, and an API key cannot', async () => {
    const available = await member('GET', '/api-keys/available-permissions')
    expect(available.text).toContain('"tool:use"')
    expect(available.text).not.toContain('tool:remove')
    const keyWith = (permission: string) =>
      member('POST', '/api-keys', { body: { apiKeyName: permission, permissionCodes: [permission] } })
    const refused = await keyWith('tool:remove')
    expect([refused.status, refused.body.code]).toEqual([400, 'VALIDATION.INVALID_PARAMETER'])
    const key = await keyWith('tool:use')
    expect(key.status, key.text).toBe(200)
    const body = { roleName: 'Tool keeper', permissionCodes: ['tool:use', 'tool:remove'] }
    const role = await member('POST', '/roles', { body })
    expect(role.status, role.text).toBe(200)
    const asKey = { headers: { authorization: `Bearer ${key.body.data.secret}` } }
    const created = await call('POST', '/api/v1/consumer/tools', { ...asKey, body: { note: 'by a key' } })
    expect(created.status, created.text).toBe(200)
    const removed = await call('POST', `/api/v1/consumer/tools/${created.body.data.bizId}/remove`, asKey)
    expect([removed.status, removed.body.code]).toEqual([403, 'ACCESS.PERMISSION_DENIED'])
  })

  test('a domain service handles the operations of the extension', inTopology('distributed'), async () => {
    const id = await create()
    expect((await member('GET', `/tools/${id}`)).status).toBe(200)
    const service = deployment.processes.at(-1)
    await expect.poll(() => service?.output()).toContain('"operation":"toolbox.read"')
  })
})
