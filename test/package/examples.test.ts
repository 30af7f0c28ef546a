import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { developmentIds } from '../../src/seed/development.ts'
import { requiredHeaders } from '../harness/http.ts'
import { needs } from '../harness/needs.ts'
import { freePort } from '../harness/postgres.ts'
import type { PorticoProcess } from '../harness/process.ts'
import { noPython, python } from '../harness/python.ts'
import { root } from '../harness/settings.ts'
import { signInAt } from '../harness/sign-in.ts'
import { userEnvironment } from './environment.ts'
import { copyExample, folderIn, runIn, startIn } from './user.ts'

interface Example {
  name: string
  /** The command runs in the folder that contains `examples`. */
  gateway: readonly string[]
  /** Path in the folder of the example. */
  config: string
  /** Undefined if this machine lacks the program. */
  service?: readonly [program: string | undefined, ...args: string[]]
  /** A path that the owner of the seeded workspace can read: JSON, or an event stream. */
  reads: string
}

const serve = ['npx', 'portico', 'serve']
function library(name: string) {
  return ['node', `examples/${name}/main.ts`]
}

/** The examples, which run with the installed package. */
const examples: Example[] = [
  { name: 'loans', gateway: library('loans'), config: 'library.yaml', reads: '/loans' },
  { name: 'loans', gateway: serve, config: 'portico.yaml', reads: '/loans' },
  { name: 'invoices', gateway: serve, config: 'portico.yaml', reads: '/invoices' },
  { name: 'deposits', gateway: serve, config: 'portico.yaml', reads: '/deposits' },
  {
    name: 'notifications',
    gateway: serve,
    config: 'portico.yaml',
    service: ['node', 'service.mjs'],
    reads: '/notifications/events',
  },
  { name: 'cards-service', gateway: serve, config: 'portico.yaml', service: [python, 'service.py'], reads: '/cards' },
]

const usualService = /http:\/\/127\.0\.0\.1:808[1-9]/

// Reports an example by name if its program is missing.
describe.each(examples)('examples/$name with $gateway.0 $gateway.1', ({ name, gateway: command, ...example }) => {
  const isSkipped = example.service !== undefined && example.service[0] === undefined
  let gateway: PorticoProcess | undefined
  let service: ChildProcess | undefined

  beforeAll(async () => {
    if (isSkipped) return
    const folder = await folderIn('development')
    await copyExample(name, folder)
    const config = join(folder, 'examples', name, example.config)
    const port = await freePort()
    const text = await readFile(config, 'utf8')
    await writeFile(config, text.replace(usualService, `http://127.0.0.1:${port}`))
    gateway = await startIn(folder, command, { PORTICO_CONFIG: config })
    const [program, ...args] = example.service ?? []
    if (program === undefined) return
    const PORTICO_JWKS = `${gateway.operationsUrl}/.well-known/jwks.json`
    const env = userEnvironment({ PORT: String(port), PORTICO_JWKS })
    service = spawn(program, args, { cwd: join(folder, 'examples', name), env, stdio: 'ignore' })
    await vi.waitFor(async () => expect((await fetch(`http://127.0.0.1:${port}`)).status).toBe(401), 20_000)
  })
  afterAll(async () => {
    if (service?.kill()) await once(service, 'exit')
    await gateway?.stop()
  })

  test(`GET ${example.reads} 200: the owner of a workspace can read it`, needs(!isSkipped, noPython), async () => {
    const { url, operationsUrl } = gateway ?? expect.fail('the gateway has not started')
    const { accessToken } = await signInAt({ url, operationsUrl })
    const response = await fetch(`${url}/web/v1/consumer${example.reads}`, {
      headers: {
        ...requiredHeaders(),
        authorization: `Bearer ${accessToken}`,
        'x-workspace-id': developmentIds.workspace,
      },
    })
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toMatch(/^(application\/json|text\/event-stream)/)
    // An event stream does not end.
    await response.body?.cancel()
  })
})

function folderOf(name: string): string {
  return join(root, 'examples', name)
}
const names = [...new Set(examples.map(({ name }) => name))]

test.each(names.filter((name) => existsSync(join(folderOf(name), 'tsconfig.json'))))(
  'examples/%s compiles, with the declarations of the libraries checked, too',
  async (name) => {
    const folder = await folderIn('development')
    await copyExample(name, folder)
    const compiled = await runIn(folder, ['npx', 'tsc', '-p', `examples/${name}`, '--skipLibCheck', 'false'])
    expect(compiled).toEqual({ code: 0, stdout: '', stderr: '' })
  },
)

test.each(names.filter((name) => globSync('*.test.ts', { cwd: folderOf(name) }).length > 0))(
  'examples/%s: its tests pass, with portico/testing',
  async (name) => {
    const folder = await folderIn('development')
    await copyExample(name, folder)
    const { code, stdout, stderr } = await runIn(join(folder, 'examples', name), ['npx', 'vitest', 'run'])
    expect(code, stdout + stderr).toBe(0)
    expect(stdout).toMatch(/Tests +\d{2,} passed/)
  },
)

test('the testing kit works with node:test', async () => {
  const folder = await folderIn('development')
  await copyExample('loans', folder)
  const project = join(folder, 'examples/loans')
  await writeFile(
    join(project, 'node.test.ts'),
    `import { after, before, describe, test } from 'node:test'
    import { promises } from 'portico/testing'
    import { samples, settings } from './samples.ts'
    import loans from './index.ts'
    promises([loans], { describe, test, before, after }, { settings, samples })`,
  )
  const { stdout, stderr } = await runIn(project, ['node', '--test', '--test-reporter', 'tap', 'node.test.ts'])
  expect(Number(/^# pass (\d+)$/m.exec(stdout)?.[1]), stdout + stderr).toBeGreaterThan(30)
  expect(stdout).toMatch(/^# fail 0$/m)
})
