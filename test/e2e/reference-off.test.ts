import { afterEach, describe, expect, test } from 'vitest'
import { developmentPassword } from '../../src/seed/development.ts'
import { type Portico, startPortico } from '../harness/portico.ts'

describe('the reference pages', () => {
  let portico: Portico | undefined
  afterEach(() => portico?.stop())
  const statusOf = async (path: string) => (await fetch(`${portico?.url}${path}`)).status

  test('reference.enabled false: /docs and /openapi.json are 404', async () => {
    portico = await startPortico({
      adjust: (settings) => {
        settings.reference.enabled = false
      },
    })
    expect([await statusOf('/docs'), await statusOf('/openapi.json')]).toEqual([404, 404])
  })

  test('429 ACCESS.RATE_LIMITED: pages count towards the address limit, each once', async () => {
    portico = await startPortico({
      adjust: ({ limits }) => {
        limits.scale = 1
        limits.address = { limit: 6, windowMs: 3_600_000 }
      },
    })
    const paths = ['/docs', '/openapi.json', '/openapi.json?channel=sealed', '/', '/docs/demo-codes.json', '/nowhere']
    for (const path of paths) {
      const response = await fetch(`${portico?.url}${path}`, { redirect: 'manual' })
      expect([path, response.status]).not.toEqual([path, 429])
    }
    for (const path of paths) {
      const response = await fetch(`${portico?.url}${path}`, { redirect: 'manual' })
      expect([path, response.status]).toEqual([path, 429])
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(await response.json()).toMatchObject({ success: false, code: 'ACCESS.RATE_LIMITED' })
    }
  })

  test('reference.portal CONSUMER: the document has no path of operators', async () => {
    portico = await startPortico({
      adjust: (settings) => {
        settings.reference.portal = 'CONSUMER'
      },
    })
    const response = await fetch(`${portico.url}/openapi.json`)
    const text = await response.text()
    expect([response.status, await statusOf('/docs')]).toEqual([200, 200])
    expect(text).toContain('/web/v1/consumer/wallets')
    expect(text).not.toContain('/web/v1/system')
  })

  test('a development gateway lists the demo accounts of the described portal, and the examples use them', async () => {
    portico = await startPortico({
      adjust: (settings) => {
        settings.reference.portal = 'SYSTEM'
      },
    })
    const accounts = [
      { portal: 'SYSTEM', email: 'operator@demo.test' },
      { portal: 'SYSTEM', email: 'checker@demo.test' },
    ]
    const json = async (path: string) => (await fetch(`${portico?.url}${path}`)).json()
    expect(await json('/docs/demo.json')).toEqual({ accounts, password: developmentPassword })
    expect(await json('/docs/demo-codes.json')).toEqual([])
    const { paths } = await json('/openapi.json')
    const { requestBody } = paths['/web/v1/system/auth/login/initiate'].post
    expect(requestBody.content['application/json'].examples.recorded.value.password).toBe(developmentPassword)
  })

  test('a gateway that sends emails has no sign-in with demo accounts', async () => {
    portico = await startPortico({ variables: { SMTP_URL: 'smtp://127.0.0.1:1' } })
    for (const path of ['/docs/demo.js', '/docs/demo.json', '/docs/demo-codes.json'])
      expect([path, await statusOf(path)]).toEqual([path, 404])
    expect(await statusOf('/docs/start.js')).toBe(200)
  })

  test('the operations listener refuses a foreign Host', async () => {
    portico = await startPortico()
    const { default: request } = await import('supertest')
    const refused = await request(portico.operationsUrl).get('/metrics').set('host', 'attacker.example')
    expect(refused.status).toBe(421)
  })
})
