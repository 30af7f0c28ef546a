import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest'
import { type Portico, startPortico } from '../harness/portico.ts'
import { freePort } from '../harness/postgres.ts'
import { root, upstreamAt } from '../harness/settings.ts'
import { type Session, signIn } from '../harness/sign-in.ts'

/** A module that is loaded before the service and sets its clock three seconds behind the gateway's. */
const behind = `data:text/javascript,${encodeURIComponent(
  'const { now } = Date; globalThis.Date = class extends Date { constructor(at = now() - 3_000) { super(at) } }',
)}`

const succeeds = (command: string, ...args: string[]): boolean => spawnSync(command, args).status === 0

/** The examples of docs/guides/service-behind-portico.md, and whether this machine can run each. */
const examples = [
  {
    name: 'node.mjs, with a clock that is behind',
    command: [process.execPath, '--import', behind, 'examples/services/node.mjs'],
    isRunnable: true,
  },
  {
    name: 'python.py',
    command: ['python3', 'examples/services/python.py'],
    isRunnable: succeeds('python3', '-c', 'import jwt, cryptography'),
  },
  { name: 'go/main.go', command: ['go', 'run', 'examples/services/go/main.go'], isRunnable: succeeds('go', 'version') },
]
const isEmbedded = inject('topology') === 'embedded'

// If this machine lacks a program, its example is skipped by name. Node.js is always available.
describe.each(examples)('the example service $name', ({ command: [program = '', ...args], isRunnable }) => {
  const isSkipped = !isEmbedded || !isRunnable
  let portico: Portico
  let session: Session
  let service: ChildProcess
  let url = ''

  beforeAll(async () => {
    if (isSkipped) return
    const port = await freePort()
    url = `http://127.0.0.1:${port}`
    portico = await startPortico({
      adjust: (settings) => {
        const breaker = { failures: 5, openMs: 200 }
        const profile = upstreamAt(url, { audience: 'profile-service', breaker })
        settings.backends = { profile, constants: { ...profile, audience: 'another-service' } }
      },
    })
    service = spawn(program, args, {
      // `go run` starts the service as a child process. A separate process group ends both.
      detached: true,
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
    if (service?.pid) process.kill(-service.pid)
    await portico?.stop()
  })

  test.skipIf(isSkipped)(
    'profile.read and profile.update 200: served by the example, in the gateway’s envelope',
    async () => {
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
    },
  )

  test.skipIf(isSkipped)(
    'constants.countries 502: the example rejects a call assertion for another audience',
    async () => {
      portico.expectFault(({ internal }) => internal === 'status 401, type ')
      expect(await portico.call('GET', '/web/v1/consumer/constants/countries')).toMatchObject({
        status: 502,
        body: { code: 'SYSTEM.UPSTREAM_INVALID_RESPONSE' },
      })
    },
  )

  test.skipIf(isSkipped)(
    'the example answers 401 without an envelope to a caller without a call assertion',
    async () => {
      const { accessToken } = session
      for (const headers of [{}, { authorization: 'Bearer x' }, { authorization: `Bearer ${accessToken}` }]) {
        const response = await fetch(`${url}/web/v1/consumer/profile`, { headers })
        expect([response.status, await response.text()]).toEqual([401, ''])
      }
    },
  )
})
