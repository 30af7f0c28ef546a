import { type ChainId, chains, type Operation, type Portal } from '../kernel/index.ts'

/** A running deployment, and what is needed to get past its first doors. */
export interface Target {
  url: string
  accessCodes: Partial<Record<Portal, string>>
  /** Sends the headers that the edge would (CF-*, X-Forwarded-Proto); off when an edge is in front of the target. */
  edgeHeaders: boolean
  /** A fresh request id. */
  requestId(): string
  pause(milliseconds: number): Promise<void>
}

export type HeaderChanges = Record<string, string | null>

const unknownId = '01990000-0000-7000-8000-00000000dead'

const edge = {
  'x-forwarded-proto': 'https',
  'cf-connecting-ip': '203.0.113.9',
  'cf-ray': '8f2a1b3c4d5e6f70-FRA',
  'cf-ipcountry': 'DE',
}

const headersFor = (target: Target, chainId: ChainId, change: HeaderChanges): Headers => {
  const portal = chains[chainId].portal === 'SYSTEM' ? 'SYSTEM' : 'CONSUMER'
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

export interface ProbeResult {
  status: number
  code: string
  isEnvelope: boolean
}

const read = (text: string): Omit<ProbeResult, 'status'> => {
  try {
    const body: unknown = JSON.parse(text)
    if (typeof body === 'object' && body !== null && 'code' in body && 'success' in body && 'message' in body)
      return { code: String(body.code), isEnvelope: typeof body.success === 'boolean' }
  } catch {
    // No JSON is no envelope, which is what is told.
  }
  return { code: '', isEnvelope: false }
}

const longestWaitSeconds = 120

/** A target that limits us is asked again when it says so, for so long in all: the limit is its right, and not what is being checked. */
const patiently = async ({ pause }: Target, send: () => Promise<Response>): Promise<Response> => {
  for (let patience = longestWaitSeconds; ; ) {
    const response = await send()
    const wait = Number(response.headers.get('retry-after') ?? Number.NaN)
    if (response.status !== 429 || !(wait > 0 && wait <= patience)) return response
    await response.body?.cancel()
    await pause(wait * 1_000)
    patience -= wait
  }
}

/**
 * Asks for an operation with the headers that the interface demands, changed in the one way that a check is about; null
 * where a limit would have to be waited for too long to be told.
 */
export const probe = async (
  target: Target,
  operation: Operation,
  chainId: ChainId,
  change: HeaderChanges,
): Promise<ProbeResult | null> => {
  const path = chains[chainId].prefix + operation.path.replace(/\{\w+\}/g, unknownId)
  const headers = headersFor(target, chainId, change)
  const url = target.url.replace(/\/$/, '') + path
  const response = await patiently(target, () => fetch(url, { method: operation.method, headers, redirect: 'manual' }))
  const got = { status: response.status, ...read(await response.text()) }
  return got.status === 429 && got.code === 'ACCESS.RATE_LIMITED' ? null : got
}
