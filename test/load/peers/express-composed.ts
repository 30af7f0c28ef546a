import { Agent } from 'node:http'
import express, { type RequestHandler } from 'express'
import { rateLimit } from 'express-rate-limit'
import helmet from 'helmet'
import { createProxyMiddleware, fixRequestBody, responseInterceptor } from 'http-proxy-middleware'
import { importJWK, jwtVerify } from 'jose'
import { pinoHttp } from 'pino-http'
import { RequestHeaders, Transfer, TransferRequest, Wallet, workspaces } from './schemas.ts'

/* Common gateway packages, each configured as in its README. */
const target = process.env.UPSTREAM ?? ''
const agent = new Agent({ keepAlive: true, maxSockets: 64 })
const key = await importJWK(JSON.parse(process.env.PEER_JWK ?? '{}'), 'ES256')

const authenticate: RequestHandler = async (request, response, next) => {
  try {
    const [, token = ''] = (request.headers.authorization ?? '').split(' ')
    response.locals.claims = (await jwtVerify(token, key, { issuer: 'peer', audience: 'peer' })).payload
    next()
  } catch {
    response.status(401).json({ success: false, code: 'ACCESS.TOKEN_INVALID', data: null })
  }
}

const validate: RequestHandler = (request, response, next) => {
  const headers = RequestHeaders.safeParse(request.headers)
  const body = request.method === 'POST' ? TransferRequest.safeParse(request.body) : { success: true }
  if (headers.success && body.success) next()
  else response.status(400).json({ success: false, code: 'VALIDATION.INVALID_PARAMETER', data: null })
}

const enterWorkspace: RequestHandler = (request, response, next) => {
  const members = workspaces.get(String(request.headers['x-workspace-id']))
  if (members?.has(response.locals.claims.sub)) next()
  else response.status(403).json({ success: false, code: 'ACCESS.PERMISSION_DENIED', data: null })
}

const envelope = responseInterceptor(async (buffer, _proxied, request) => {
  const schema = request.method === 'GET' ? Wallet : Transfer
  const data = schema.parse(JSON.parse(buffer.toString('utf8')))
  return JSON.stringify({ success: true, code: 'OK', message: 'OK', data, timestamp: Date.now() })
})

express()
  .disable('x-powered-by')
  .use(helmet())
  .use(pinoHttp())
  .use(rateLimit({ windowMs: 60_000, limit: 1_000_000_000, standardHeaders: 'draft-8', legacyHeaders: false }))
  .use(express.json())
  .use(authenticate)
  .use(validate)
  .use(enterWorkspace)
  .use(
    createProxyMiddleware({
      target,
      agent,
      selfHandleResponse: true,
      on: { proxyReq: fixRequestBody, proxyRes: envelope },
    }),
  )
  .listen(Number(process.env.PORT), '127.0.0.1')
