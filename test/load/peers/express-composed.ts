import { Agent } from 'node:http'
import express, { type RequestHandler } from 'express'
import { rateLimit } from 'express-rate-limit'
import helmet from 'helmet'
import { createProxyMiddleware, fixRequestBody } from 'http-proxy-middleware'
import { importJWK, jwtVerify } from 'jose'
import { pinoHttp } from 'pino-http'

/* Express with common gateway packages. Each package is configured as in its README. */
const target = process.env.UPSTREAM ?? ''
const agent = new Agent({ keepAlive: true, maxSockets: 64 })
const key = await importJWK(JSON.parse(process.env.PEER_JWK ?? '{}'), 'EdDSA')

const authenticate: RequestHandler = async (request, response, next) => {
  try {
    const [, token = ''] = (request.headers.authorization ?? '').split(' ')
    response.locals.claims = (await jwtVerify(token, key, { issuer: 'peer', audience: 'peer' })).payload
    next()
  } catch {
    response.status(401).json({ success: false, code: 'ACCESS.TOKEN_INVALID', data: null })
  }
}

express()
  .disable('x-powered-by')
  .use(helmet())
  .use(pinoHttp())
  .use(rateLimit({ windowMs: 60_000, limit: 1_000_000_000, standardHeaders: 'draft-8', legacyHeaders: false }))
  .use(authenticate)
  .use(express.json())
  .use(createProxyMiddleware({ target, agent, on: { proxyReq: fixRequestBody } }))
  .listen(Number(process.env.PORT), '127.0.0.1')
