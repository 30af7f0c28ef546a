import { pino } from 'pino'
import request from 'supertest'
import { expect, test } from 'vitest'
import { createOperationsApp, securityHeaders } from '../../src/gateway/index.ts'
import { createMetrics } from '../../src/platform/telemetry/index.ts'

const app = createOperationsApp({
  probes: [
    { name: 'store', check: async () => undefined },
    { name: 'cache', check: () => Promise.reject(new Error('planted: no answer at 10.0.0.7')) },
  ],
  isDraining: () => false,
  metrics: createMetrics(),
  jwks: () => Promise.reject(new Error('planted: no keys')),
  explain: () => [],
  outbox: null,
  securityFields: securityHeaders(),
  logger: pino({ level: 'silent' }),
})

test.each([
  ['/health/live', 200],
  ['/health/ready', 503],
  ['/metrics', 200],
  ['/explain/unknown', 404],
  ['/explain/%ff', 400],
  ['/.well-known/jwks.json', 500],
  ['/mail', 404],
])('%s %i is kept by no cache, says its type, and tells nothing of its maker or of a fault', async (path, status) => {
  const answer = await request(app).get(path)
  expect(answer.status).toBe(status)
  expect(answer.headers).toMatchObject({
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'content-type': expect.stringMatching(/; charset=utf-8$/),
  })
  expect(answer.headers).not.toHaveProperty('x-powered-by')
  expect(answer.text).not.toMatch(/planted|at .*\.ts:|node_modules/)
})
