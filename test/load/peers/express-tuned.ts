import { randomUUID, verify } from 'node:crypto'
import express, { type Request, type Response } from 'express'
import { importJWK, SignJWT } from 'jose'
import { destination, pino } from 'pino'
import { Pool } from 'undici'
import { RequestHeaders, Transfer, TransferRequest, Wallet, workspaces } from './schemas.ts'

/*
 * One hand-written Express handler with the duties of Portico's proxied requests. It caches what Portico caches: verified
 * tokens, memberships and call assertions.
 */
const pool = new Pool(process.env.UPSTREAM ?? '', { connections: 64, pipelining: 1 })
const jwk = JSON.parse(process.env.PEER_JWK ?? '{}')
const signingKey = await importJWK(JSON.parse(process.env.PEER_PRIVATE_JWK ?? '{}'), 'ES256')
const log = pino(destination({ dest: 1, minLength: 4096, sync: false }))

interface Session {
  account: string
  session: string
  expiresAt: number
}

const sessions = new Map<string, Session>()
const assertions = new Map<string, { token: string; until: number }>()
const counts = new Map<string, number>()
let countsEndAt = 0

function readToken(token: string): Session | undefined {
  const [head = '', payload = '', signature = ''] = token.split('.')
  const { alg } = JSON.parse(Buffer.from(head, 'base64url').toString())
  if (alg !== 'ES256') return undefined
  const key = { key: jwk, format: 'jwk', dsaEncoding: 'ieee-p1363' } as const
  const signed = Buffer.from(`${head}.${payload}`)
  if (!verify('sha256', signed, key, Buffer.from(signature, 'base64url'))) return undefined
  const { iss, aud, sub, sid, exp } = JSON.parse(Buffer.from(payload, 'base64url').toString())
  if (iss !== 'peer' || aud !== 'peer') return undefined
  return { account: sub, session: sid, expiresAt: exp * 1000 }
}

function authenticate(header: string, now: number): Session | undefined {
  const token = header.slice('Bearer '.length)
  let session = sessions.get(token)
  if (!session) {
    session = readToken(token)
    if (!session) return undefined
    sessions.set(token, session)
  }
  return session.expiresAt > now ? session : undefined
}

function exceeds(key: string, now: number): boolean {
  if (now >= countsEndAt) {
    counts.clear()
    countsEndAt = now + 60_000
  }
  const count = (counts.get(key) ?? 0) + 1
  counts.set(key, count)
  return count > 1_000_000_000
}

async function assertionOf({ account, session }: Session, workspace: string, now: number): Promise<string> {
  const key = `${account} ${session} ${workspace}`
  const cached = assertions.get(key)
  if (cached && cached.until > now) return cached.token
  const token = await new SignJWT({ portal: 'CONSUMER', sid: session, workspace: { id: workspace } })
    .setProtectedHeader({ alg: 'ES256' })
    .setSubject(account)
    .setIssuer('peer')
    .setAudience('wallets')
    .setIssuedAt()
    .setExpirationTime('60s')
    .sign(signingKey)
  assertions.set(key, { token, until: now + 30_000 })
  return token
}

const securityHeaders = {
  'content-type': 'application/json; charset=utf-8',
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
}

function refuse(response: Response, status: number, code: string): void {
  response.writeHead(status, securityHeaders).end(JSON.stringify({ success: false, code, data: null }))
}

async function bodyOf(request: Request): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

async function handle(request: Request, response: Response): Promise<void> {
  const begun = performance.now()
  const now = Date.now()
  const headers = RequestHeaders.safeParse(request.headers)
  if (!headers.success) return refuse(response, 400, 'VALIDATION.INVALID_PARAMETER')
  if (exceeds(headers.data['cf-connecting-ip'], now)) return refuse(response, 429, 'ACCESS.RATE_LIMITED')
  const session = authenticate(request.headers.authorization ?? '', now)
  if (!session) return refuse(response, 401, 'ACCESS.TOKEN_INVALID')
  if (exceeds(session.account, now)) return refuse(response, 429, 'ACCESS.RATE_LIMITED')
  const workspace = headers.data['x-workspace-id']
  if (!workspaces.get(workspace)?.has(session.account)) return refuse(response, 403, 'ACCESS.PERMISSION_DENIED')
  const isPost = request.method === 'POST'
  const body = isPost ? await bodyOf(request) : null
  if (body !== null && !TransferRequest.safeParse(JSON.parse(body)).success)
    return refuse(response, 400, 'VALIDATION.INVALID_PARAMETER')
  const upstream = await pool.request({
    method: isPost ? 'POST' : 'GET',
    path: request.url,
    headers: {
      authorization: `Bearer ${await assertionOf(session, workspace, now)}`,
      'content-type': 'application/json',
      'x-request-id': headers.data['x-request-id'],
      traceparent: `00-${randomUUID().replaceAll('-', '')}-00f067aa0ba902b7-01`,
    },
    body,
  })
  const reply = (isPost ? Transfer : Wallet).safeParse(await upstream.body.json())
  if (upstream.statusCode !== 200 || !reply.success) return refuse(response, 502, 'GATEWAY.UPSTREAM_INVALID')
  const text = JSON.stringify({ success: true, code: 'OK', message: 'OK', data: reply.data, timestamp: now })
  response.writeHead(200, { ...securityHeaders, 'content-length': Buffer.byteLength(text) }).end(text)
  log.info({
    method: request.method,
    path: request.url,
    status: 200,
    request: headers.data['x-request-id'],
    account: session.account,
    workspace,
    ms: performance.now() - begun,
  })
}

express().disable('x-powered-by').use(handle).listen(Number(process.env.PORT), '127.0.0.1')
