import { readXlsx } from 'hucre/xlsx'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../../src/seed/development.ts'
import { requiredHeaders } from '../../harness/http.ts'
import { needsStore } from '../../harness/needs.ts'
import { type Portico, startPortico } from '../../harness/portico.ts'
import { type Session, signIn } from '../../harness/sign-in.ts'

interface Made {
  bizId: string
  exportStatus: { code: string }
  rowCount: number
  sizeBytes: number
  createdAt: string
  completedAt: string
  expiresAt: string
}

describe('exports', needsStore(), () => {
  let portico: Portico
  let owner: Session
  const { workspace, mainUsd, savingsUsd } = developmentIds
  const remarks = ['=1+1', '+49', '-2', '@x', 'a,"b"', 'plain']

  beforeAll(async () => {
    portico = await startPortico({
      pace: { pollMs: 50, everyMs: { 'exports.sweep': 200, 'recharges.expire': 600_000 } },
      adjust: (settings) => {
        settings.money.recharge.lifeMs = 1_000
      },
    })
    owner = await signIn(portico)
    for (const remark of remarks) {
      const body = {
        sourceWalletBizId: mainUsd,
        targetWalletBizId: savingsUsd,
        amount: '1.00',
        currency: 'USD',
        remark,
      }
      const reply = await call('POST', '/transfer/command/create', { body })
      expect(reply.status, reply.text).toBe(200)
    }
  })
  afterAll(() => portico?.stop())

  const call = (
    method: string,
    path: string,
    { token = owner.accessToken, ...rest }: { token?: string; body?: object } = {},
  ) => portico.call(method, `/web/v1/consumer${path}`, { token, workspace, ...rest })

  const create = async (body: object, token?: string): Promise<Made> => {
    const reply = await call('POST', '/exports', { body, ...(token && { token }) })
    expect(reply.status, reply.text).toBe(200)
    expect(reply.body.data).toMatchObject({ exportStatus: { code: 'QUEUED' }, rowCount: null })
    return reply.body.data
  }
  const completed = async (body: object, token?: string): Promise<Made> => {
    const { bizId } = await create(body, token)
    const read = async () => (await call('GET', `/exports/${bizId}`, token ? { token } : {})).body.data
    await expect.poll(async () => (await read()).exportStatus.code, { timeout: 60_000 }).toBe('COMPLETED')
    return read()
  }
  const download = async (id: string, token = owner.accessToken) => {
    const response = await fetch(`${portico.url}/web/v1/consumer/exports/${id}/download`, {
      headers: { ...requiredHeaders(), authorization: `Bearer ${token}`, 'x-workspace-id': workspace },
    })
    return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) }
  }
  const code = ({ status, body }: { status: number; body: { code?: string } | null }) => [status, body?.code]

  test('exports.create, read, download 200: transfers as CSV, formulas neutralized', async () => {
    const created = await completed({ exportType: 'TRANSFERS', format: 'CSV' })
    expect(created).toMatchObject({ rowCount: remarks.length, failureCode: null, exportType: { code: 'TRANSFERS' } })
    const { status, headers, bytes } = await download(created.bizId)
    expect(status).toBe(200)
    expect(created.sizeBytes).toBe(bytes.length)
    expect(created.completedAt >= created.createdAt).toBe(true)
    expect(Date.parse(created.expiresAt) - Date.parse(created.completedAt)).toBe(portico.settings.exports.lifeMs)
    expect(headers.get('content-type')).toBe('text/csv; charset=utf-8')
    expect(headers.get('content-disposition')).toMatch(/^attachment; filename="transfers-\d{4}-\d\d-\d\d\.csv"/)
    const [header, ...lines] = bytes.toString().trimEnd().split('\r\n')
    expect(header).toBe(
      '\ufeffbizId,orderNo,transferStatus,sourceWalletBizId,targetWalletBizId,amount,currency,feeAmount,remark,clientReference,failureCode,createdAt,updatedAt,completedAt',
    )
    expect(lines).toHaveLength(remarks.length)
    expect(lines[0]).toContain(`COMPLETED,${mainUsd},${savingsUsd},1.00,USD,0.00,'=1+1,`)
    for (const line of lines) expect(line).not.toMatch(/(^|,)"?[=+\-@\t]/)
    expect(lines.join()).toContain('"a,""b"""')
  })

  test('exports.download 200: one audit entry per download, none for HEAD', async () => {
    const { bizId } = await completed({ exportType: 'TRANSFERS', format: 'CSV' })
    const { accessToken: token } = await signIn(portico, 'operator@demo.test')
    const log = `/web/v1/system/audit-log?action=exports.download&targetId=${bizId}`
    const lines = async () => (await portico.call('GET', log, { token })).body.data.items.length
    const file = `/web/v1/consumer/exports/${bizId}/download`
    expect((await portico.call('HEAD', file, { token: owner.accessToken, workspace })).status).toBe(200)
    expect(await lines()).toBe(0)
    expect((await download(bizId)).status).toBe(200)
    expect(await lines()).toBe(1)
  })

  test('exports.create 200: flows of every wallet as JSON Lines, by filter', async () => {
    const rowsOf = async (filters: object) => {
      const created = await completed({ exportType: 'FLOWS', format: 'JSONL', filters })
      const text = (await download(created.bizId)).bytes.toString()
      const rows = text
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line))
      expect(rows).toHaveLength(created.rowCount)
      return rows
    }
    const all = await rowsOf({})
    expect(all.filter((row) => row.flowType === 'TRANSFER')).toHaveLength(remarks.length * 2)
    const out = await rowsOf({ walletId: mainUsd, direction: 'OUT' })
    expect(out).toHaveLength(remarks.length)
    expect(out[0]).toMatchObject({ walletBizId: mainUsd, amount: '1.00', currency: 'USD', description: '=1+1' })
    expect(await rowsOf({ endTime: '2020-01-01T00:00:00Z' })).toEqual([])
    const last = all.map(({ createdAt }) => createdAt).sort()[all.length - 1]
    expect(await rowsOf({ startTime: last.replace('Z', '0001Z') })).toEqual([])
    expect(await rowsOf({ startTime: last })).toEqual(all.filter(({ createdAt }) => createdAt === last))
  })

  test("exports.create 200: the caller's own logins as XLSX, visible to nobody else", async () => {
    const member = await signIn(portico, 'member@demo.test')
    const created = await completed({ exportType: 'LOGIN_HISTORY', format: 'XLSX' })
    const { headers, bytes } = await download(created.bizId)
    expect(headers.get('content-type')).toContain('spreadsheetml.sheet')
    const [sheet] = (await readXlsx(bytes)).sheets
    expect(sheet?.rows[0]?.slice(0, 2)).toEqual(['bizId', 'loginTime'])
    expect(sheet?.rows.length).toBe(created.rowCount + 1)
    const { items } = (await call('GET', '/security/sessions/history?sortOrder=asc')).body.data
    const own = items.map(({ bizId }: { bizId: string }) => bizId)
    expect(sheet?.rows.slice(1).map(([bizId]) => bizId)).toEqual(own)
    const seen = await call('GET', `/exports/${created.bizId}`, { token: member.accessToken })
    expect(code(seen)).toEqual([404, 'RESOURCE.NOT_FOUND'])
    const list = await call('GET', '/exports?exportType=LOGIN_HISTORY', { token: member.accessToken })
    expect(list.body.data.items).toEqual([])
    const shared = await completed({ exportType: 'TRANSFERS', format: 'CSV' })
    expect((await call('GET', `/exports/${shared.bizId}`, { token: member.accessToken })).status).toBe(200)
  })

  test('exports.create 200: a recharge past its expiry is EXPIRED before any job has run', async () => {
    const body = { walletBizId: mainUsd, channelCode: 'BANK_USD', amount: '100.00' }
    const { bizId } = (await call('POST', '/recharges', { body })).body.data
    const read = async () => (await call('GET', `/recharges/${bizId}`)).body.data
    await expect.poll(async () => (await read()).rechargeStatus.code).toBe('EXPIRED')
    const { version, expiresAt } = await read()
    expect(version).toBe(1)
    const rows = async (rechargeStatus: string) => {
      const created = await completed({ exportType: 'RECHARGES', format: 'JSONL', filters: { rechargeStatus } })
      const { bytes } = await download(created.bizId)
      const lines = bytes.toString().split('\n').filter(Boolean)
      return lines.map((line) => JSON.parse(line))
    }
    expect(await rows('PENDING_PAYMENT')).toEqual([])
    expect(await rows('EXPIRED')).toMatchObject([{ bizId, rechargeStatus: 'EXPIRED', updatedAt: expiresAt }])
  })

  test('exports.list 200: by filter, newest first', async () => {
    const created = await completed({ exportType: 'EXCHANGES', format: 'CSV' })
    const list = await call('GET', '/exports?exportType=EXCHANGES&exportStatus=COMPLETED')
    expect(list.body.data.items[0]).toMatchObject({ bizId: created.bizId, rowCount: 0 })
    expect(list.body.data.pagination).toMatchObject({ totalRecords: 1 })
  })

  test('exports.read 404 and exports.download 404: the same for unknown, foreign and malformed ids', async () => {
    const created = await completed({ exportType: 'RECHARGES', format: 'CSV' })
    const other = await call('POST', '/workspaces', { body: { workspaceName: 'Elsewhere' } })
    const elsewhere = { token: owner.accessToken, workspace: other.body.data.bizId }
    const responses = [
      await portico.call('GET', `/web/v1/consumer/exports/${created.bizId}`, elsewhere),
      await portico.call('GET', `/web/v1/consumer/exports/${created.bizId}/download`, elsewhere),
      await call('GET', '/exports/01990000-0000-7000-8000-00000000dead'),
      await call('GET', '/exports/nothing/download'),
    ]
    for (const reply of responses) expect(code(reply)).toEqual([404, 'RESOURCE.NOT_FOUND'])
  })

  test('exports.create 400: unknown types, formats and filters', async () => {
    const bodies = [
      { exportType: 'PASSWORDS', format: 'CSV' },
      { exportType: 'FLOWS', format: 'PDF' },
      { exportType: 'FLOWS', format: 'CSV', filters: { workspaceId: workspace } },
      {
        exportType: 'FLOWS',
        format: 'CSV',
        filters: { startTime: '2026-02-01T00:00:00Z', endTime: '2026-01-01T00:00:00Z' },
      },
    ]
    for (const body of bodies)
      expect(code(await call('POST', '/exports', { body }))).toEqual([400, 'VALIDATION.INVALID_PARAMETER'])
  })

  test('exports.create 200: exchanges by the filters of their list', async () => {
    const quoted = { sourceCurrency: 'USD', targetCurrency: 'EUR', amount: '10.00', fixedSide: 'SOURCE' }
    const { quoteBizId } = (await call('POST', '/exchanges/quote', { body: quoted })).body.data
    expect((await call('POST', '/exchanges', { body: { quoteBizId } })).status).toBe(200)
    const rowsOf = async (filters: object) => {
      const listed = await call('GET', `/exchanges?${new URLSearchParams({ ...filters })}`)
      const { rowCount } = await completed({ exportType: 'EXCHANGES', format: 'CSV', filters })
      expect(rowCount).toBe(listed.body.data.pagination.totalRecords)
      return rowCount
    }
    expect(await rowsOf({ sourceCurrency: 'USD', targetCurrency: 'EUR', exchangeStatus: 'COMPLETED' })).toBe(1)
    expect(await rowsOf({ sourceCurrency: 'EUR' })).toBe(0)
    expect(await rowsOf({ targetCurrency: 'USD' })).toBe(0)
  })

  test("exports.create 403 and exports.download 403: requires the list's own permission each time", async () => {
    const member = await signIn(portico, 'member@demo.test')
    const denied = await call('POST', '/exports', {
      token: member.accessToken,
      body: { exportType: 'FLOWS', format: 'CSV' },
    })
    expect(code(denied)).toEqual([403, 'ACCESS.PERMISSION_DENIED'])
    const permit = async (permissionCodes: string[]) => {
      const body = { roleBizId: developmentIds.memberRole, permissionCodes }
      const reply = await call('POST', '/roles/permissions', { body })
      expect(reply.status, reply.text).toBe(200)
    }
    await permit(['export:read', 'export:create', 'wallet:read'])
    const created = await completed({ exportType: 'FLOWS', format: 'CSV' }, member.accessToken)
    expect((await download(created.bizId, member.accessToken)).status).toBe(200)
    const other = await call('POST', '/exports', {
      token: member.accessToken,
      body: { exportType: 'TRANSFERS', format: 'CSV' },
    })
    expect(code(other)).toEqual([403, 'ACCESS.PERMISSION_DENIED'])
    await permit(['export:read'])
    expect((await download(created.bizId, member.accessToken)).status).toBe(403)
    expect((await download(created.bizId)).status).toBe(200)
  })
})

describe('a pending export', needsStore(), () => {
  let portico: Portico
  beforeAll(async () => {
    portico = await startPortico({ pace: { pollMs: 600_000 } })
  })
  afterAll(() => portico?.stop())

  test('exports.download 409 before completion', async () => {
    const requests = { token: (await signIn(portico)).accessToken, workspace: developmentIds.workspace }
    const body = { exportType: 'FLOWS', format: 'XLSX' }
    const created = await portico.call('POST', '/web/v1/consumer/exports', { ...requests, body })
    expect([created.status, created.body.data.exportStatus.code]).toEqual([200, 'QUEUED'])
    const at = await portico.call('GET', `/web/v1/consumer/exports/${created.body.data.bizId}/download`, requests)
    expect([at.status, at.body.code]).toEqual([409, 'STATE.CONFLICT'])
  })
})

describe('exports with a short expiry', needsStore(), () => {
  let portico: Portico
  let owner: Session
  beforeAll(async () => {
    portico = await startPortico({
      // Other tests raise the limit of 20 per window.
      variables: { PORTICO_RATE_LIMIT_SCALE: '1' },
      pace: { pollMs: 50, everyMs: { 'exports.sweep': 200 } },
      adjust: (settings) => {
        settings.exports.lifeMs = 1_500
      },
    })
    owner = await signIn(portico)
  })
  afterAll(() => portico?.stop())

  test('exports.create 429 above the limit, all others complete; exports.download 409 once expired', async () => {
    const requests = Array.from({ length: 100 }, () =>
      portico.call('POST', '/web/v1/consumer/exports', {
        token: owner.accessToken,
        workspace: developmentIds.workspace,
        body: { exportType: 'FLOWS', format: 'CSV' },
      }),
    )
    const responses = await Promise.all(requests)
    const created = responses.filter(({ status }) => status === 200)
    const refused = responses.filter(({ status }) => status === 429)
    expect([created.length, refused.length]).toEqual([20, 80])
    expect(refused[0]?.body.code).toBe('ACCESS.RATE_LIMITED')
    const status = async (wanted: string) => {
      const list = await portico.call('GET', `/web/v1/consumer/exports?pageSize=100&exportStatus=${wanted}`, {
        token: owner.accessToken,
        workspace: developmentIds.workspace,
      })
      return list.body.data.pagination.totalRecords
    }
    await expect.poll(() => status('EXPIRED'), { timeout: 60_000, interval: 500 }).toBe(20)
    const [first] = created
    const gone = await portico.call('GET', `/web/v1/consumer/exports/${first?.body.data.bizId}/download`, {
      token: owner.accessToken,
      workspace: developmentIds.workspace,
    })
    expect([gone.status, gone.body.code]).toEqual([409, 'STATE.CONFLICT'])
  })
})

describe('an expired export, before any job has run', needsStore(), () => {
  let portico: Portico
  let owner: Session
  beforeAll(async () => {
    portico = await startPortico({
      pace: { pollMs: 50, everyMs: { 'exports.sweep': 600_000 } },
      adjust: (settings) => {
        settings.exports.lifeMs = 1_000
      },
    })
    owner = await signIn(portico)
  })
  afterAll(() => portico?.stop())

  test('exports.read, list 200: EXPIRED, by filter too; exports.download 409', async () => {
    const requests = { token: owner.accessToken, workspace: developmentIds.workspace }
    const call = (method: string, path: string, body?: object) =>
      portico.call(method, `/web/v1/consumer/exports${path}`, { ...requests, ...(body && { body }) })
    const created = await call('POST', '', { exportType: 'FLOWS', format: 'CSV' })
    const { bizId } = created.body.data
    const status = async () => (await call('GET', `/${bizId}`)).body.data.exportStatus.code
    await expect.poll(status, { timeout: 60_000 }).toBe('EXPIRED')
    const listed = async (wanted: string) => {
      const { items } = (await call('GET', `?exportStatus=${wanted}`)).body.data
      return items.map((item: Made) => [item.bizId, item.exportStatus.code])
    }
    expect(await listed('COMPLETED')).toEqual([])
    expect(await listed('EXPIRED')).toEqual([[bizId, 'EXPIRED']])
    const gone = await call('GET', `/${bizId}/download`)
    expect([gone.status, gone.body.code]).toEqual([409, 'STATE.CONFLICT'])
  })
})
