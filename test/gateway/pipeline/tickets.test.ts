import { describe, expect, test } from 'vitest'
import { downloadFile, readFile } from '../../../src/banking/files/contract.ts'
import type { Call } from '../../../src/gateway/pipeline/call.ts'
import { createClientResolver } from '../../../src/gateway/pipeline/client-address.ts'
import { createAllowedOrigins } from '../../../src/gateway/pipeline/origins.ts'
import {
  accessCodeStage,
  addressGuardStage,
  clientHashStage,
  edgeStage,
  offerCheck,
  requiredHeadersStage,
} from '../../../src/gateway/pipeline/stages/index.ts'
import { pathOf } from '../../../src/gateway/pipeline/tickets.ts'
import type { Operation } from '../../../src/kernel/index.ts'
import { refusalOf } from '../../banking/world.ts'
import { arrivedCall, headersOf } from '../../harness/call.ts'
import { testSettings } from '../../harness/settings.ts'

const value = 'A'.repeat(43)
const settings = testSettings({})

interface Sent {
  headers?: Record<string, string>
  method?: string
  operation?: Operation
  peer?: string
}

/** A link in development: a browser adds no header of the interface. */
function follow(query: string, { headers = {}, operation = downloadFile, ...more }: Sent = {}): Call {
  return arrivedCall(operation, { query, headers: headersOf(headers), ...more })
}

async function runPerimeter(call: Call, configured = settings): Promise<void> {
  const resolveClient = createClientResolver(configured.portals)
  const origins = createAllowedOrigins(configured)
  const stages = [
    edgeStage(resolveClient),
    accessCodeStage(configured.portals, resolveClient, offerCheck([])),
    requiredHeadersStage(configured, origins),
    clientHashStage,
  ]
  for (const stage of stages) await stage(call)
}

describe('a ticket takes the place of the headers', () => {
  test.each([
    [`ticket=${value}`, '/files/{file_id}/download'],
    [`a=1&ticket=${value}`, '/files/{file_id}/download?a=1'],
    [`ticket=${value}&a=%20`, '/files/{file_id}/download?a=%20'],
    [`ticket=${value}&ticket=${value}`, `/files/{file_id}/download?ticket=${value}`],
  ])('%s is removed from the query', async (query, path) => {
    const call = follow(query)
    await runPerimeter(call)
    expect([call.ticket, pathOf(call), call.portal]).toEqual([{ value, spent: null }, path, 'CONSUMER'])
  })

  test.each<[string, Call, string]>([
    ['another operation', follow(`ticket=${value}`, { operation: readFile }), 'ACCESS.PORTAL_MISMATCH'],
    ['another name', follow(`xticket=${value}`), 'ACCESS.PORTAL_MISMATCH'],
    ['an escaped name', follow(`%74icket=${value}`), 'ACCESS.PORTAL_MISMATCH'],
    ['HEAD', follow(`ticket=${value}`, { method: 'HEAD' }), 'ACCESS.TICKET_INVALID'],
    ['a token', follow(`ticket=${value}`, { headers: { authorization: 'Bearer x' } }), 'ACCESS.TICKET_INVALID'],
    ['a malformed value', follow('ticket=x'), 'ACCESS.TICKET_INVALID'],
  ])('refused with %s', async (_, call, code) => {
    expect(await refusalOf(runPerimeter(call))).toBe(code)
  })
})

describe('headers of the edge', () => {
  const query = `ticket=${value}`
  const perimeterOf = (headers: Record<string, string>, peer = '127.0.0.1', configured = settings) =>
    refusalOf(runPerimeter(follow(query, { headers, peer }), configured))

  test('400 in production: a trusted peer may not omit them', async () => {
    const production = testSettings({}, (draft) => {
      draft.profile = 'production'
    })
    expect(await perimeterOf({}, '127.0.0.1', production)).toBe('VALIDATION.INVALID_PARAMETER')
    production.portals.CONSUMER.edge = { kind: 'direct', trustedProxies: [] }
    expect(await perimeterOf({}, '203.0.113.1', production)).toBe('VALIDATION.INVALID_PARAMETER')
  })

  test('in development, a trusted peer may omit them, but not falsify them', async () => {
    expect(await perimeterOf({})).toBe('none')
    expect(await perimeterOf({ 'x-forwarded-proto': 'http' })).toBe('VALIDATION.INVALID_PARAMETER')
    expect(await perimeterOf({ 'cf-connecting-ip': 'x' })).toBe('VALIDATION.INVALID_PARAMETER')
    expect(await perimeterOf({ 'cf-ipcountry': '?' })).toBe('VALIDATION.INVALID_PARAMETER')
    const call = follow(query, { headers: { 'cf-connecting-ip': '203.0.113.9', 'cf-ipcountry': 'de' } })
    await runPerimeter(call)
    expect([call.clientIp, call.country]).toEqual(['203.0.113.9', 'DE'])
  })

  test('any other peer is refused, with and without them', async () => {
    const edge = {
      'x-forwarded-proto': 'https',
      'cf-connecting-ip': '203.0.113.9',
      'cf-ray': 'x',
      'cf-ipcountry': 'DE',
    }
    for (const headers of [{}, edge])
      expect(await perimeterOf(headers, '203.0.113.1')).toBe('VALIDATION.INVALID_PARAMETER')
  })

  test('without Cloudflare, only X-Forwarded-Proto is checked', async () => {
    const direct = testSettings({}, (draft) => {
      draft.portals.CONSUMER.edge = { kind: 'direct', trustedProxies: [] }
    })
    expect(await perimeterOf({}, '203.0.113.1', direct)).toBe('none')
    expect(await perimeterOf({ 'x-forwarded-proto': 'http' }, '203.0.113.1', direct)).toBe(
      'VALIDATION.INVALID_PARAMETER',
    )
  })
})

describe('the page of a ticket', () => {
  const configured = testSettings({}, (draft) => {
    draft.portals.CONSUMER.origins = ['https://app.example']
  })
  const pageOf = async (headers: Record<string, string>, from = configured, hasTicket = true): Promise<string> => {
    const call = follow('', { headers })
    call.portal = 'CONSUMER'
    if (hasTicket) call.ticket = { value, spent: null }
    return refusalOf((async () => createAllowedOrigins(from).assertOwnPage(call))())
  }

  test('links and images of the own page, and of a listed one', async () => {
    for (const site of ['same-origin', 'same-site', 'cross-site'])
      expect([site, await pageOf({ 'sec-fetch-site': site })]).toEqual([site, 'none'])
    const listed = { 'sec-fetch-site': 'same-site', origin: 'https://app.example' }
    expect(await pageOf(listed)).toBe('none')
  })

  test('403 ACCESS.ORIGIN_NOT_ALLOWED without a listed origin, without a ticket, and without a page', async () => {
    const refused = 'ACCESS.ORIGIN_NOT_ALLOWED'
    for (const site of ['same-site', 'cross-site']) {
      expect([site, await pageOf({ 'sec-fetch-site': site }, settings)]).toEqual([site, refused])
      expect([site, await pageOf({ 'sec-fetch-site': site }, configured, false)]).toEqual([site, refused])
    }
    expect(await pageOf({ 'sec-fetch-site': 'none' })).toBe(refused)
    expect(await pageOf({})).toBe(refused)
    expect(await pageOf({ 'sec-fetch-site': 'same-site', origin: 'https://evil.example' })).toBe(refused)
    expect(await pageOf({ 'sec-fetch-site': 'same-site', origin: new URL(settings.publicUrl).origin })).toBe(refused)
  })
})

test('files.download 429 ACCESS.RATE_LIMITED: the limit of the address precedes the store', async () => {
  const exhausted = { allowed: false, limit: 1, remaining: 0, resetMs: 1_000 }
  const limits = {
    admit: () => exhausted,
    spendAll: () => [],
    addressKey: (address: string) => address,
    networkKey: (address: string) => address,
  }
  const call = follow(`ticket=${value}`)
  await runPerimeter(call)
  expect(await refusalOf((async () => addressGuardStage(limits, settings)(call))())).toBe('ACCESS.RATE_LIMITED')
})
