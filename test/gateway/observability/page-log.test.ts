import express, { type ErrorRequestHandler } from 'express'
import { pino } from 'pino'
import request from 'supertest'
import { expect, test } from 'vitest'
import { createPageLog } from '../../../src/gateway/observability/page-log.ts'

const lines: string[] = []
const fault: ErrorRequestHandler = (_error, _request, response, _next) => void response.status(500).end()
const app = express()
  .use(createPageLog(pino({}, { write: (line: string) => void lines.push(line) })))
  .get('/docs', (_request, response) => void response.send('a page'))
  .get('/broken', () => {
    throw new Error('no page')
  })
  .use(fault)

const planted = {
  authorization: 'Bearer planted-token',
  cookie: 'planted-cookie',
  'x-portal-access-code': 'planted-access-code',
  'x-client-hash': 'planted-client-hash',
  'x-request-id': 'planted-request-id',
}

test.each([
  ['/docs', 200],
  ['/broken', 500],
])('the line of a page, %s %i, has its path and nothing else of the request', async (path, status) => {
  lines.length = 0
  expect((await request(app).get(`${path}?token=planted-query`).set(planted)).status).toBe(status)
  await expect.poll(() => lines.length).toBe(1)
  const line = lines.join()
  expect(JSON.parse(line)).toMatchObject({ status, page: path })
  expect(line).not.toContain('planted')
  expect(line).not.toContain('127.0.0.1')
  expect(JSON.parse(line).err?.message).toBe(status === 500 ? 'failed with status code 500' : undefined)
})
