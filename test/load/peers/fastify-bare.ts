import httpProxy from '@fastify/http-proxy'
import { fastify } from 'fastify'

/* @fastify/http-proxy without checks. */
const app = fastify()
await app.register(httpProxy, { upstream: process.env.UPSTREAM ?? '', undici: { connections: 64, pipelining: 1 } })
await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' })
