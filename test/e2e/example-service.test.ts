import { type ChildProcess, spawn } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest'
import { type Portico, startPortico } from '../harness/portico.ts'
import { freePort } from '../harness/postgres.ts'
import { root, upstreamAt } from '../harness/settings.ts'
import { type Session, signIn } from '../harness/sign-in.ts'

/** Loaded before the service: sets its clock three seconds behind the gateway's. */
const behind = `data:text/javascript,${encodeURIComponent(
  'const { now } = Date; globalThis.Date = class extends Date { constructor(at = now() - 3_000) { super(at) } }',
)}`

/** The example of docs/upstreams.md runs as written. */
describe.skipIf(inject('topology') !== 'embedded')('the example service of docs/upstreams.md', () => {
  let portico: Portico
  let session: Session
  let service: ChildProcess
  let url = ''

  beforeAll(async () => {
    const port = await freePort()
    url = `http://127.0.0.1:${port}`
    portico = await startPortico({
      adjust: (settings) => {
        const breaker = { failures: 5, openMs: 200 }
        const profile = upstreamAt(url, { audience: 'profile-service', breaker })
        settings.backends = { profile, constants: { ...profile, audience: 'another-service' } }
      },
    })
    service = spawn(process.execPath, ['--import', behind, 'docs/example-service.mjs'], {
      cwd: root,
      env: {
        ...process.env,
        PORT: String(port),
        PORTICO_JWKS: `${portico.operationsUrl}/.well-known/jwks.json`,
        NODE_OPTIONS: '',
      },
    })
    await vi.waitFor(async () => expect((await fetch(url)).status).toBe(401), { timeout: 60_000 })
    session = await signIn(portico)
  })
  afterAll(async () => {
    service?.kill()
    await portico?.stop()
  })

  test("profile.read and profile.update 200: in the gateway's envelope, although its clock is behind", async () => {
    const { accessToken: token } = session
    const before = await portico.call('GET', '/web/v1/consumer/profile', { token })
    expect(before.body, before.text).toMatchObject({
      success: true,
      version: '2.0.0',
      data: { accountName: 'Someone' },
    })
    const changed = await portico.call('POST', '/web/v1/consumer/profile/update', {
      token,
      body: { accountName: 'Somebody' },
    })
    expect(changed.body.data.accountName).toBe('Somebody')
  })

  test('constants.countries 502 for a service that expects another audience', async () => {
    portico.expectFault(({ internal }) => internal === 'status 401, type ')
    expect(await portico.call('GET', '/web/v1/consumer/constants/countries')).toMatchObject({
      status: 502,
      body: { code: 'SYSTEM.UPSTREAM_INVALID_RESPONSE' },
    })
  })

  test('401 without an envelope for a request without a call assertion', async () => {
    const { accessToken } = session
    for (const headers of [{}, { authorization: 'Bearer x' }, { authorization: `Bearer ${accessToken}` }]) {
      const response = await fetch(`${url}/web/v1/consumer/profile`, { headers })
      expect([response.status, await response.text()]).toEqual([401, ''])
    }
  })
})
