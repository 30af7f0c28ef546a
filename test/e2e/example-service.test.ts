import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { runCli } from '../harness/cli.ts'
import { needs } from '../harness/needs.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { freePort } from '../harness/postgres.ts'
import { pythonWithFastApi } from '../harness/python.ts'
import { root, upstreamAt } from '../harness/settings.ts'
import { type Session, signIn } from '../harness/sign-in.ts'

/** Loaded before the service. Its clock is three seconds behind the gateway's. */
const behind = `data:text/javascript,${encodeURIComponent(
  'const { now } = Date; globalThis.Date = class extends Date { constructor(at = now() - 3_000) { super(at) } }',
)}`

const folder = join(root, 'examples/services')

/** Whether a program is installed in a version that the example supports. */
function hasVersion(command: string, args: string[], min: number): boolean {
  const { status, stdout } = spawnSync(command, args, { cwd: folder, encoding: 'utf8' })
  return status === 0 && Number(/(\d+)(\.\d+)*\s*$/m.exec(stdout.replace(/^go1\./, ''))?.[1]) >= min
}

/** See docs/guides/service-behind-portico.md. */
const examples = [
  {
    name: 'node.mjs, with a clock that is behind',
    file: 'node.mjs',
    command: [process.execPath, '--import', behind, 'node.mjs'],
    isRunnable: true,
  },
  {
    name: 'fastapi_service.py',
    file: 'fastapi_service.py',
    command: [pythonWithFastApi ?? '', 'fastapi_service.py'],
    isRunnable: pythonWithFastApi !== undefined,
  },
  {
    name: 'go/main.go',
    file: 'go/main.go',
    command: ['go', '-C', 'go', 'run', '.'],
    isRunnable: hasVersion('go', ['env', 'GOVERSION'], 25),
  },
  {
    name: 'java/ProfileService.java',
    file: 'java/ProfileService.java',
    command: ['mvn', '-q', '-f', 'java', 'compile', 'exec:java'],
    isRunnable: hasVersion('javac', ['-version'], 17) && spawnSync('mvn', ['-v']).status === 0,
  },
]

const profilePath = '/web/v1/consumer/profile'

/** Resolves when the service refuses a call without an assertion. */
async function startService([program = '', ...args]: readonly string[], port: number, jwks: string) {
  const service = spawn(program, args, {
    // With a process group, one signal also ends the child of `go run`.
    detached: true,
    cwd: folder,
    env: { ...process.env, PORT: String(port), PORTICO_JWKS: jwks, NODE_OPTIONS: '' },
  })
  let output = ''
  for (const stream of [service.stdout, service.stderr])
    stream.on('data', (chunk) => {
      output += chunk
    })
  // A build can download packages.
  await vi.waitFor(
    async () => expect((await fetch(`http://127.0.0.1:${port}${profilePath}`)).status, output).toBe(401),
    {
      timeout: 240_000,
      interval: 200,
    },
  )
  return service
}

async function stopService(service: ChildProcess | undefined): Promise<void> {
  if (!service?.pid || service.exitCode !== null) return
  process.kill(-service.pid)
  await once(service, 'exit')
}

test.each(examples)('the example service $name has fewer than 80 lines', ({ file }) => {
  expect(readFileSync(join(folder, file), 'utf8').trimEnd().split('\n').length).toBeLessThan(80)
})

// Reports an example by name if its program is not installed.
describe.each(examples)('the example service $name', ({ name, command, isRunnable }) => {
  const runnable = needs(isRunnable, `the program of ${name} is not installed`)
  let portico: Portico
  let session: Session
  let service: ChildProcess | undefined
  let url = ''

  beforeAll(async () => {
    if (!isRunnable) return
    const port = await freePort()
    url = `http://127.0.0.1:${port}`
    portico = await startPortico({
      adjust: (settings) => {
        const breaker = { failures: 5, openMs: 200 }
        const profile = upstreamAt(url, { audience: 'profile-service', breaker })
        settings.backends = { profile, constants: { ...profile, audience: 'another-service' } }
      },
    })
    service = await startService(command, port, `${portico.operationsUrl}/.well-known/jwks.json`)
    session = await signIn(portico)
  })
  afterAll(async () => {
    await stopService(service)
    await portico?.stop()
  })

  test('profile.read and profile.update 200: served by the example, in the gateway’s envelope', runnable, async () => {
    const { accessToken: token } = session
    const before = await portico.call('GET', '/web/v1/consumer/profile', { token })
    expect(before.body, before.text).toMatchObject({
      success: true,
      version: '2.0.0',
      data: { accountName: 'Someone' },
    })
    const update = (body: object) => portico.call('POST', '/web/v1/consumer/profile/update', { token, body })
    expect((await update({ accountName: 'Somebody' })).body.data.accountName).toBe('Somebody')
    expect((await update({ defaultLanguage: 'vi' })).body.data.accountName).toBe('Somebody')
  })

  test('constants.countries 502: the example rejects a call assertion for another audience', runnable, async () => {
    portico.expectFault(({ internal }) => internal === 'status 401, type ')
    expect(await portico.call('GET', '/web/v1/consumer/constants/countries')).toMatchObject({
      status: 502,
      body: { code: 'SYSTEM.UPSTREAM_INVALID_RESPONSE' },
    })
  })

  test('the example answers 401 without an envelope to a caller without a call assertion', runnable, async () => {
    const { accessToken } = session
    for (const headers of [{}, { authorization: 'Bearer x' }, { authorization: `Bearer ${accessToken}` }]) {
      const response = await fetch(`${url}/web/v1/consumer/profile`, { headers })
      expect([response.status, await response.text()]).toEqual([401, ''])
    }
  })

  test('portico conformance --upstream passes, twice in a row: exit code 0', runnable, async () => {
    const [port, keys] = [await freePort(), `127.0.0.1:${await freePort()}`]
    const upstream = `http://127.0.0.1:${port}`
    const tested = await startService(command, port, `http://${keys}/.well-known/jwks.json`)
    try {
      const configuration = { backends: { profile: { url: upstream, audience: 'profile-service' } } }
      // The second run has another key.
      for (let run = 1; run <= 2; run += 1) {
        const args = ['conformance', '--upstream', upstream, '--domain', 'profile', '--jwks', keys]
        const { code, out, err } = await runCli(args, configuration)
        expect(code, out + err).toBe(0)
        expect(out).toContain('\n11 passed, 0 failed, 0 not checked\n')
      }
    } finally {
      await stopService(tested)
    }
  })
})
