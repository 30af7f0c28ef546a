import { Agent } from 'node:http'
import express from 'express'
import { createProxyMiddleware } from 'http-proxy-middleware'

/* http-proxy-middleware without checks. */
const target = process.env.UPSTREAM ?? ''
const agent = new Agent({ keepAlive: true, maxSockets: 64 })

express()
  .disable('x-powered-by')
  .use(createProxyMiddleware({ target, agent }))
  .listen(Number(process.env.PORT), '127.0.0.1')
