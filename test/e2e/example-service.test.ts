import { type ChildProcess, spawn } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest'
import { type Portico, startPortico } from '../harness/portico.ts'
import { freePort } from '../harness/postgres.ts'
import { root, upstreamAt } from '../harness/settings.ts'
import { type Session, signIn } from '../harness/sign-in.ts'

/** docs/upstreams.md promises that its example works. */
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
        settings.backends = { profile: upstreamAt(url, { audience: 'profile-service', breaker }) }
      },
    })
    service = spawn(process.execPath, ['docs/example-service.mjs'], {
      cwd: root,
      env: {
        ...process.env,
        PORT: String(port),
        PORTICO_JWKS: `${portico.operationsUrl}/.well-known/jwks.json`,
        NODE_OPTIONS: '',
      },
    })
    await vi.waitFor(async () => expect((await fetch(url)).status).toBe(403), { timeout: 5_000 })
    session = await signIn(portico)
  })
  afterAll(async () => {
    service?.kill()
    await portico?.stop()
  })

  test('profile.read and profile.update 200: served by it, in the gateway’s envelope', async () => {
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

  test('whoever asks it without an assertion for it is refused', async () => {
    const { accessToken } = session
    for (const headers of [{}, { authorization: 'Bearer x' }, { authorization: `Bearer ${accessToken}` }])
      expect((await fetch(`${url}/web/v1/consumer/profile`, { headers })).status).toBe(403)
  })
})
