import type { AdditionalPortal } from '../gateway/index.ts'
import { type Chain, type Operation, portalOfChain, type ServedChain } from '../kernel/index.ts'

export interface Target {
  url: string
  /** The portals besides CONSUMER and SYSTEM. */
  additional?: readonly AdditionalPortal[]
  /** By portal. The portals without a code are not checked. */
  accessCodes: Readonly<Partial<Record<string, string>>>
  /** False if an edge is in front of the target. */
  edgeHeaders: boolean
  requestId(): string
  pause(milliseconds: number): Promise<void>
}

/** Null removes a header. */
export type HeaderChanges = Record<string, string | null>

const unknownId = '01990000-0000-7000-8000-00000000dead'

const edge = {
  'x-forwarded-proto': 'https',
  'cf-connecting-ip': '203.0.113.9',
  'cf-ray': '8f2a1b3c4d5e6f70-FRA',
  'cf-ipcountry': 'DE',
}

export interface ProbeResult {
  status: number
  code: string
  isEnvelope: boolean
  sent: Record<string, string>
  response: Response
}

const maxWaitSeconds = 120

/** Returns null if a rate limit still applies when the time is up. */
export async function probe(
  target: Target,
  operation: Operation,
  { chain }: ServedChain,
  change: HeaderChanges,
): Promise<ProbeResult | null> {
  const path = chain.prefix + operation.path.replace(/\{\w+\}/g, unknownId)
  const headers = buildHeaders(target, chain, change)
  const url = target.url.replace(/\/$/, '') + path
  const response = await fetchWithinLimit(target, () =>
    fetch(url, { method: operation.method, headers, redirect: 'manual' }),
  )
  const sent = Object.fromEntries(headers)
  const got = { status: response.status, ...parseReply(await response.text()), sent, response }
  return got.status === 429 && got.code === 'ACCESS.RATE_LIMITED' ? null : got
}

function buildHeaders(target: Target, chain: Chain, change: HeaderChanges): Headers {
  const portal = portalOfChain(chain) ?? 'CONSUMER'
  const all: HeaderChanges = {
    'x-portal-access-code': target.accessCodes[portal] ?? null,
    'x-request-id': target.requestId(),
    'x-client-hash': 'portico-conformance',
    'x-locale': 'en',
    'content-type': 'application/json',
    ...(target.edgeHeaders && edge),
    ...change,
  }
  const headers = new Headers()
  for (const [name, value] of Object.entries(all)) if (value !== null) headers.set(name, value)
  return headers
}

/** Rate limits are not part of the check, so waits for up to two minutes in total. */
async function fetchWithinLimit({ pause }: Target, send: () => Promise<Response>): Promise<Response> {
  for (let remaining = maxWaitSeconds; ; ) {
    const response = await send()
    const wait = Number(response.headers.get('retry-after') ?? Number.NaN)
    if (response.status !== 429 || !(wait > 0 && wait <= remaining)) return response
    await response.body?.cancel()
    await pause(wait * 1_000)
    remaining -= wait
  }
}

function parseReply(text: string): Pick<ProbeResult, 'code' | 'isEnvelope'> {
  try {
    const body: unknown = JSON.parse(text)
    if (typeof body === 'object' && body !== null && 'code' in body && 'success' in body && 'message' in body)
      return { code: String(body.code), isEnvelope: typeof body.success === 'boolean' }
  } catch {
    // The body is not an envelope.
  }
  return { code: '', isEnvelope: false }
}
