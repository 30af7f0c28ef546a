import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../../src/seed/development.ts'
import { fromOwnPage, openPage, type Page } from '../../harness/browser.ts'
import { encodeMultipart, pdf } from '../../harness/multipart.ts'
import { needsStore } from '../../harness/needs.ts'
import { type Portico, startPortico } from '../../harness/portico.ts'
import { signIn } from '../../harness/sign-in.ts'

const { workspace } = developmentIds
const invalidTicket = [403, 'ACCESS.TICKET_INVALID']

/** A browser that follows a link sends the cookie, but no header of the interface. */
describe('one-time links', needsStore(), () => {
  let portico: Portico
  let page: Page
  let fileId: string
  const content = pdf(1_000)

  beforeAll(async () => {
    portico = await startPortico({
      pace: { pollMs: 50 },
      adjust: ({ portals }) => {
        portals.SYSTEM.origins = ['https://operators.example']
      },
    })
    page = await openPage(portico)
    fileId = await upload()
  })
  afterAll(() => portico?.stop())

  async function upload(by = page): Promise<string> {
    const { headers, body } = encodeMultipart([
      { name: 'file', content, fileName: 'contract.pdf', type: 'application/pdf' },
      { name: 'purpose', content: 'DOCUMENT' },
    ])
    return (await by.call('POST', '/files/upload', { workspace, headers, body })).body.data.bizId
  }

  async function link(by = page, id = fileId): Promise<string> {
    const { status, body, text } = await by.call('POST', `/files/${id}/link`, { workspace })
    expect(status, text).toBe(200)
    expect(body.data).toEqual({ url: expect.stringMatching(/\?ticket=[\w-]{43}$/), expiresIn: 60 })
    return body.data.url
  }

  interface Follow {
    cookie?: string
    headers?: Record<string, string>
    method?: string
    base?: string
  }

  function follow(
    url: string,
    { cookie = page.cookie, headers = {}, method = 'GET', base = portico.url }: Follow = {},
  ) {
    return fetch(base + url, { method, headers: { ...fromOwnPage, cookie, ...headers } })
  }

  async function refused(response: Promise<Response>) {
    const { status, body, ok } = await response.then(async (each) => ({
      status: each.status,
      ok: each.ok,
      body: each.ok || each.body === null ? null : JSON.parse((await each.text()) || 'null'),
    }))
    return ok ? [status, null] : [status, body?.code ?? null]
  }

  test('files.link 200: the URL downloads the file with the cookie and no other header', async () => {
    const response = await follow(await link())
    expect(response.status).toBe(200)
    expect(Buffer.from(await response.arrayBuffer())).toEqual(content)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-disposition': expect.stringContaining('attachment'),
      'cache-control': 'no-store',
      'cross-origin-resource-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
    })
  })

  test('files.download 206: a ticket serves a range, and is then spent', async () => {
    const url = await link()
    const headers = { range: 'bytes=0-3' }
    const part = await follow(url, { headers })
    expect([part.status, await part.text()]).toEqual([206, '%PDF'])
    expect(await refused(follow(url, { headers }))).toEqual(invalidTicket)
  })

  test('files.download 403 ACCESS.TICKET_INVALID: of 10 parallel requests on all replicas, one succeeds', async () => {
    const url = await link()
    const all = await Promise.all(Array.from({ length: 10 }, () => refused(follow(url))))
    expect(all.filter(([status]) => status === 200)).toHaveLength(1)
    expect(all.filter(([status]) => status !== 200)).toEqual(Array.from({ length: 9 }, () => invalidTicket))
  })

  test('files.download 403 ACCESS.TICKET_INVALID: the refusal is in the language of the request', async () => {
    const response = await follow(await link().then((url) => `${url}x`))
    expect(response.status).toBe(403)
    expect((await response.json()).message).toBe('the link has expired or was already used')
  })

  test('files.download 403 ACCESS.TICKET_INVALID: another session, account, path or query, and none is spent', async () => {
    const url = await link()
    const [path, ticket = ''] = url.split('?')
    const own = await openPage(portico)
    const member = await openPage(portico, 'member@demo.test')
    const other = await upload()
    expect(await refused(follow(url, { cookie: own.cookie }))).toEqual(invalidTicket)
    expect(await refused(follow(url, { cookie: member.cookie }))).toEqual(invalidTicket)
    for (const wrong of [
      `/web/v1/consumer/files/${other}/download?${ticket}`,
      `${path}?x=1&${ticket}`,
      `${path}?${ticket}&${ticket}`,
      `${path}?ticket=${'A'.repeat(43)}`,
      `${path}?ticket=`,
      `${path}?${ticket}A`,
    ])
      expect([wrong, await refused(follow(wrong))]).toEqual([wrong, invalidTicket])
    expect((await follow(url)).status).toBe(200)
  })

  test('files.download 403 ACCESS.TICKET_INVALID: HEAD and a token are refused, and the ticket is not spent', async () => {
    const url = await link()
    expect((await follow(url, { method: 'HEAD' })).status).toBe(403)
    const { accessToken } = await signIn(portico)
    const headers = { authorization: `Bearer ${accessToken}` }
    expect(await refused(follow(url, { headers }))).toEqual(invalidTicket)
    const withoutCookie = { headers: { ...fromOwnPage, ...headers } }
    expect(await refused(fetch(portico.url + url, withoutCookie))).toEqual(invalidTicket)
    expect(await refused(fetch(portico.url + url, { headers: fromOwnPage }))).toEqual([401, 'ACCESS.TOKEN_MISSING'])
    expect((await follow(url)).status).toBe(200)
  })

  test('files.download 403 ACCESS.ORIGIN_NOT_ALLOWED: from any other page, and the ticket is not spent', async () => {
    const url = await link()
    for (const headers of [
      { 'sec-fetch-site': 'none' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'cross-site' },
      { origin: 'https://evil.example' },
      { origin: 'null' },
    ])
      expect([headers, await refused(follow(url, { headers }))]).toEqual([headers, [403, 'ACCESS.ORIGIN_NOT_ALLOWED']])
    const withoutSite = fetch(portico.url + url, { headers: { cookie: page.cookie } })
    expect(await refused(withoutSite)).toEqual([403, 'ACCESS.ORIGIN_NOT_ALLOWED'])
    expect((await follow(url)).status).toBe(200)
  })

  test('files.download 401 or 403: the session has ended, on each replica', async () => {
    const ending = await openPage(portico)
    const { cookie } = ending
    const urls = [await link(ending), await link(ending)]
    await ending.call('POST', '/auth/browser-session/end')
    for (const [index, url] of urls.entries()) {
      const base = portico.urls[index % portico.urls.length] ?? ''
      // A replica that does not know the end yet finds no ticket of an open session.
      expect([[401, 'ACCESS.TOKEN_INVALID'], invalidTicket]).toContainEqual(
        await refused(follow(url, { cookie, base })),
      )
    }
  })

  test('files.download 404 RESOURCE.NOT_FOUND: the file was deleted after the link; files.link 404 afterwards', async () => {
    const id = await upload()
    const url = await link(page, id)
    expect((await page.call('POST', `/files/${id}/delete`, { workspace })).status).toBe(200)
    expect(await refused(follow(url))).toEqual([404, 'RESOURCE.NOT_FOUND'])
    const again = await page.call('POST', `/files/${id}/link`, { workspace })
    expect([again.status, again.body.code]).toEqual([404, 'RESOURCE.NOT_FOUND'])
  })

  test('files.download 403 ACCESS.PERMISSION_DENIED: the member lost the workspace after the link', async () => {
    const member = await openPage(portico, 'member@demo.test')
    const url = await link(member)
    const { headers } = await follow(url, { cookie: member.cookie })
    expect(headers.get('content-type')).toContain('pdf')
    const next = await link(member)
    const left = await member.call('POST', '/workspaces/current/leave', { workspace })
    expect(left.status, left.text).toBe(200)
    expect(await refused(follow(next, { cookie: member.cookie }))).toEqual([403, 'ACCESS.PERMISSION_DENIED'])
  })

  test('files.link 400 ACCESS.COOKIE_INVALID: a session that has tokens', async () => {
    const { accessToken: token } = await signIn(portico)
    const { status, body } = await portico.call('POST', `/web/v1/consumer/files/${fileId}/link`, { token, workspace })
    expect([status, body.code]).toEqual([400, 'ACCESS.COOKIE_INVALID'])
  })

  test('exports.link 200: a completed export; 409 STATE.CONFLICT before', async () => {
    const body = { exportType: 'FLOWS', format: 'CSV' }
    const { bizId } = (await page.call('POST', '/exports', { workspace, body })).body.data
    const early = await page.call('POST', `/exports/${bizId}/link`, { workspace })
    expect([[200], [409, 'STATE.CONFLICT']]).toContainEqual(
      [early.status, early.body.code].slice(0, early.status === 200 ? 1 : 2),
    )
    await expect
      .poll(async () => (await page.call('GET', `/exports/${bizId}`, { workspace })).body.data.exportStatus.code)
      .toBe('COMPLETED')
    const { url } = (await page.call('POST', `/exports/${bizId}/link`, { workspace })).body.data
    const response = await follow(url)
    expect([response.status, response.headers.get('content-type')]).toEqual([200, expect.stringContaining('csv')])
  })

  describe('browserSessions.ticket', () => {
    const create = (path: string, by = page) =>
      by.call('POST', '/auth/browser-session/ticket', { workspace, body: { path } })

    test('browserSessions.ticket 200: for any download', async () => {
      const { status, body } = await create(`/web/v1/consumer/files/${fileId}/download`)
      expect(status).toBe(200)
      expect((await follow(body.data.url)).status).toBe(200)
    })

    test('browserSessions.ticket 400 VALIDATION.INVALID_PARAMETER: every other path', async () => {
      const download = `/web/v1/consumer/files/${fileId}/download`
      for (const path of [
        '/web/v1/consumer/wallets',
        `/web/v1/consumer/files/${fileId}`,
        '/web/v1/consumer/unknown',
        '/api/v1/consumer/wallets',
        `/web/v1/system/../consumer/files/${fileId}/download`,
        `${download}#x`,
        `${download}?`,
        `${download}?ticket=${'A'.repeat(43)}`,
        `/${download}`,
        `https://evil.example${download}`,
        `${download}?a=é`,
        `${download}?${'a'.repeat(2_048)}`,
      ]) {
        const { status, body } = await create(path)
        expect([path, status, body.code]).toEqual([path, 400, 'VALIDATION.INVALID_PARAMETER'])
      }
    })

    test('browserSessions.ticket 400 VALIDATION.INVALID_PARAMETER: a path of the other portal', async () => {
      const operator = await openPage(portico, 'operator@demo.test', 'system')
      const { status, body } = await operator.call('POST', '/auth/browser-session/ticket', {
        headers: { 'x-portal-access-code': 'system-dev' },
        body: { path: `/web/v1/consumer/files/${fileId}/download` },
      })
      expect([status, body.code]).toEqual([400, 'VALIDATION.INVALID_PARAMETER'])
    })
  })

  test('the ticket is in no log line', async () => {
    const url = await link()
    expect((await follow(url)).status).toBe(200)
    expect(await refused(follow(url))).toEqual(invalidTicket)
    const [, value = ''] = url.split('ticket=')
    await expect
      .poll(() => portico.log.filter(({ operation }) => operation === 'files.download').length)
      .toBeGreaterThan(1)
    expect(portico.rawLog.join('')).not.toContain(value)
  })
})
