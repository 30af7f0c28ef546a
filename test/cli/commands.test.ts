import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bankingDomains } from '../../src/banking/index.ts'
import { commands as loaders } from '../../src/cli/index.ts'
import { startServer as serve } from '../../src/main.ts'
import { runCli, runProgram } from '../harness/cli.ts'
import { captureLog } from '../harness/log.ts'
import { needs } from '../harness/needs.ts'
import { freePort } from '../harness/postgres.ts'
import { emptyDirectory } from '../harness/prepared-pglite.ts'
import { root, testSettings } from '../harness/settings.ts'
import { seededDirectory } from '../harness/template.ts'

async function run(file: string, args: string[], variables: Record<string, string> = {}) {
  const child = spawn(file, args, {
    cwd: root,
    env: { ...process.env, DATABASE_URL: '', NODE_OPTIONS: '', ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code: child.exitCode, out, err }
}
const commands = await Promise.all(Object.values(loaders).map((load) => load()))
function portico(args: string[], variables = {}) {
  return runCli(args, {}, variables)
}

test('portico without arguments, help and --help list every command: exit code 0', async () => {
  for (const args of [[], ['help'], ['--help'], ['-h']]) {
    const { code, out, err } = await portico(args)
    expect([code, err]).toEqual([0, ''])
    for (const { name, summary } of commands) expect(out).toContain(`${name.padEnd(20)} ${summary}`)
  }
})

test('a group of commands without one of them, or with --help, lists its own commands', async () => {
  const listed = commands.filter(({ name }) => name.startsWith('account '))
  const expected = `portico account <command> [options]\n\n${listed.map(({ name, summary }) => `  ${name.padEnd(20)} ${summary}\n`).join('')}`
  for (const args of [
    ['account', '--help'],
    ['account', '-h'],
  ])
    expect(await portico(args)).toEqual({ code: 0, out: expected, err: '' })
  for (const args of [['account'], ['account', 'delete']])
    expect(await portico(args)).toEqual({
      code: 2,
      out: '',
      err: `portico: no command '${args.join(' ')}'\n\n${expected}`,
    })
})

test('portico --version prints the version of the package: exit code 0', async () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  expect(await portico(['--version'])).toEqual({ code: 0, out: `${version}\n`, err: '' })
})

// One process per command, as a smoke test.
test.each(commands.map(({ name }) => name))('%s --help prints help and does nothing: exit code 0', async (name) => {
  const { code, out, err } = await runProgram([...name.split(' '), '--help'], {})
  expect([code, err]).toEqual([0, ''])
  expect(out).toMatch(new RegExp(`^portico ${name}: .+\\n\\n.+`))
})

test.each([
  ['an unknown command', ['frobnicate'], "no command 'frobnicate'"],
  ['a name from Object.prototype', ['constructor'], "no command 'constructor'"],
  ['an incomplete command', ['ledger'], "no command 'ledger'"],
  ['an unknown option', ['migrate', '--loudly'], '--loudly'],
  ['an unknown role', ['serve', '--role', 'king'], "must be gateway or domains, not 'king'"],
  ['an invalid target', ['conformance', '--target', 'portal.example'], "must be a URL, not 'portal.example'"],
  ['an extra argument', ['openapi', 'please'], 'please'],
  [
    'an unknown domain of a service',
    ['openapi', '--domain', 'walets'],
    "no service can serve 'walets'. The domains are",
  ],
  ['a domain that no service can serve', ['openapi', '--domain', 'auth'], 'apiKeys, constants, events, exchanges'],
  ['an audience without a domain', ['openapi', '--audience', 'me'], '--audience needs --domain'],
  ['a service without a domain', ['conformance', '--upstream', 'http://127.0.0.1:1'], '--domain is required'],
  [
    'an unknown domain to check',
    ['conformance', '--upstream', 'http://127.0.0.1:1', '--domain', 'walets'],
    "no service can serve 'walets'",
  ],
  ['a domain without a service', ['conformance', '--domain', 'wallets'], '--domain needs --upstream'],
  [
    'a deployment and a service',
    ['conformance', '--upstream', 'http://127.0.0.1:1', '--target', 'http://127.0.0.1:2'],
    '--target cannot be combined with --upstream',
  ],
  [
    'a service that is not a URL',
    ['conformance', '--upstream', 'wallets', '--domain', 'wallets'],
    '--upstream must be',
  ],
  [
    'a service with a query',
    ['conformance', '--upstream', 'http://127.0.0.1:1/?a=b', '--domain', 'wallets'],
    '--upstream must not have a query',
  ],
  [
    'a service on another machine',
    ['conformance', '--upstream', 'http://a.test', '--domain', 'wallets'],
    'a.test is not this machine. Add --yes-this-is-mine',
  ],
  [
    'a place for the keys without a port',
    ['conformance', '--upstream', 'http://127.0.0.1:1', '--domain', 'wallets', '--jwks', 'localhost'],
    '--jwks must be a host and a port',
  ],
  [
    'an account that is not an id',
    ['conformance', '--upstream', 'http://127.0.0.1:1', '--domain', 'wallets', '--account', 'me'],
    '--account must be a UUID',
  ],
  ['an unknown format', ['openapi', '--format', 'insomnia'], '--format must be postman'],
  [
    'a collection of sealed bodies',
    ['openapi', '--format', 'postman', '--channel', 'sealed'],
    '--format cannot be combined',
  ],
  ['an unknown channel', ['openapi', '--channel', 'open'], '--channel must be sealed'],
  [
    'sealed bodies of a service',
    ['openapi', '--channel', 'sealed', '--domain', 'wallets'],
    '--channel cannot be combined',
  ],
  ['a client without a file', ['client'], '--out is required, such as --out src/portico.ts'],
  [
    'a client of a gateway and of a configuration',
    ['client', '--out', '/tmp/client.ts', '--url', 'http://127.0.0.1:1', '--config', 'a.yaml'],
    '--url and --config cannot be combined',
  ],
  [
    'a client of a URL without a scheme',
    ['client', '--out', 'a.ts', '--url', 'portal'],
    '--url must be an http(s) URL',
  ],
  ['a client of no further operations', ['client', '--out', '/tmp/none.ts'], 'has no operations besides those of'],
  ['an unknown scenario', ['load', '--scenario', 'lunch'], '--scenario must be one of reads, transfers,'],
  ['a rate of zero', ['load', '--rate', '0'], '--rate must be a number from 0.1 to 10000'],
  ['a name that begins like a loopback address', ['load', '--url', 'http://127.0.0.1.test'], 'is not this machine'],
  [
    'another machine without accounts',
    ['load', '--url', 'http://a.test', '--yes-this-is-mine'],
    '--accounts or --api-keys',
  ],
  ['an unreadable file of accounts', ['load', '--accounts', '/nowhere'], '--accounts: ENOENT'],
])('%s: exit code 2', async (_name, args, message) => {
  const { code, out, err } = await portico(args)
  expect([code, out]).toEqual([2, ''])
  expect(err).toContain(message)
})

test.each(
  commands
    .map(({ name }) => name)
    .filter(
      (name) => !['client', 'conformance', 'init', 'load', 'new domain', 'openapi', 'operator create'].includes(name),
    ),
)('%s with an invalid configuration names the setting: exit code 2', async (name) => {
  const { code, out, err } = await portico(name.split(' '), { PORT: 'nowhere' })
  expect([code, out]).toEqual([2, ''])
  expect(err).toContain('listen.port (PORT)')
})

test('an unreachable PostgreSQL is reported by its variable, with the error of each address: exit code 1', async () => {
  const lookup = "async () => ['127.0.0.1', '127.0.0.2'].map((address) => ({ address, family: 4 }))"
  const twoAddresses = `data:text/javascript,import dns from 'node:dns'; dns.promises.lookup = ${lookup}`
  const DATABASE_URL = 'postgres://portico:hidden@store.test:1/portico'
  const { code, out, err } = await run(
    process.execPath,
    ['--import', twoAddresses, 'bin/portico.js', 'ledger', 'verify'],
    {
      DATABASE_URL,
    },
  )
  expect([code, out]).toEqual([1, ''])
  expect(err).toBe(
    'portico: cannot connect to PostgreSQL at portico@store.test:1/portico (DATABASE_URL): connect ECONNREFUSED 127.0.0.1:1, connect ECONNREFUSED 127.0.0.2:1\n',
  )
})

test('an unreadable certificate in DATABASE_URL is reported with its path: exit code 1', async () => {
  const { code, err } = await portico(['migrate'], {
    DATABASE_URL: 'postgres://portico:hidden@127.0.0.1:1/portico?sslrootcert=/nowhere.pem',
  })
  expect(code).toBe(1)
  expect(err).toBe(
    "portico: cannot connect to PostgreSQL at portico@127.0.0.1:1/portico (DATABASE_URL): ENOENT: no such file or directory, open '/nowhere.pem'\n",
  )
})

test('an unsupported version of Node is refused with the supported one: exit code 2', async () => {
  const older = "data:text/javascript,Object.defineProperty(process, 'version', { value: 'v20.20.2' })"
  const { code, out, err } = await run(process.execPath, ['--import', older, 'bin/portico.js', 'config', 'check'])
  expect([code, out]).toEqual([2, ''])
  expect(err).toMatch(
    /^portico: Node v20\.20\.2 is not supported: Portico requires Node 24, or 26 or newer\. In a clone, .*npx portico.*\n$/,
  )
})

test('an unavailable store: exit code 1', async () => {
  const { code, err } = await portico(['ledger', 'verify'], { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' })
  expect(code).toBe(1)
  expect(err).toMatch(/^portico: /)
})

describe('a command that needs an existing store', () => {
  let empty: Awaited<ReturnType<typeof emptyDirectory>>
  beforeAll(async () => {
    empty = await emptyDirectory()
  })
  afterAll(() => empty?.remove())

  test('does not create one: exit code 1', async () => {
    const missing = join(empty.directory, 'missing')
    const results = [
      ...['ledger verify', 'audit verify', 'keys rotate --reason x', 'account find owner', 'operator list'],
      ...['whitelist disable --email owner@demo.test --reason x', 'account suspend owner@demo.test --reason x'],
    ].map((command) => portico(command.split(' '), { PORTICO_DATA_DIR: missing }))
    for (const { code, out, err } of await Promise.all(results))
      expect([code, out, err]).toEqual([1, '', `portico: there is no store in ${missing}\n`])
    expect(existsSync(missing)).toBe(false)
  })

  test('reports an empty one: exit code 1', async () => {
    for (const command of ['ledger', 'audit']) {
      const { code, err } = await portico([command, 'verify'], { PORTICO_DATA_DIR: empty.directory })
      expect([code, err]).toEqual([1, 'portico: the store has no tables: run `portico migrate`\n'])
    }
  })

  test('does not overwrite an incomplete one: exit code 1', async () => {
    const version = join(empty.directory, 'pg', 'PG_VERSION')
    await rm(version)
    const { code, err } = await portico(['migrate'], { PORTICO_DATA_DIR: empty.directory })
    expect([code, existsSync(version)]).toEqual([1, false])
    expect(err).toContain('could not be opened: it has been opened before, but its file PG_VERSION is missing')
  })
})

test('a data directory that is a file is reported with its variable: exit code 1', async () => {
  const PORTICO_DATA_DIR = join(root, 'package.json')
  const { code, out, err } = await portico(['migrate'], { PORTICO_DATA_DIR })
  expect([code, out]).toEqual([1, ''])
  expect(err).toContain(`portico: the data directory ${PORTICO_DATA_DIR} (PORTICO_DATA_DIR) cannot be created: EEXIST`)
})

test('config check prints the effective configuration without secrets: exit code 0', async () => {
  const PORTICO_CONFIG = join(await mkdtemp(join(tmpdir(), 'portico-check-')), 'portico.yaml')
  await writeFile(PORTICO_CONFIG, 'turnstile: { secret: hidden, siteKey: public }')
  const { code, out, err } = await portico(['config', 'check'], {
    PORTICO_CONFIG,
    PORT: '8123',
    DATABASE_URL: 'postgres://portico:hidden@store.test/portico',
    REDIS_URL: 'redis://portico:hidden@store.test',
    SMTP_URL: 'smtp://portico:hidden@mail.test',
    PORTICO_SECRET_KEY: Buffer.alloc(32, 'hidden').toString('base64'),
  })
  await rm(dirname(PORTICO_CONFIG), { recursive: true })
  expect([code, err]).toEqual([0, ''])
  expect(out).toContain('port: 8123\n')
  expect(out).toContain('store: postgresql store.test:5432/portico\n')
  expect(out).not.toMatch(/hidden|aGlkZGVu/)
  for (const name of ['databaseUrl', 'redisUrl', 'smtpUrl', 'secretKeys', 'secret'])
    expect(out).toMatch(new RegExp(`^ *${name}: '\\[secret\\]'$`, 'm'))
})

test('config check warns of a split ledger and names the domains of each place: exit code 0', async () => {
  const PORTICO_CONFIG = join(await mkdtemp(join(tmpdir(), 'portico-check-')), 'portico.yaml')
  await writeFile(PORTICO_CONFIG, 'backends: { wallets: { url: http://127.0.0.1:8081 } }')
  const { code, err } = await portico(['config', 'check'], { PORTICO_CONFIG })
  await rm(dirname(PORTICO_CONFIG), { recursive: true })
  expect(code).toBe(0)
  expect(err).toMatch(
    /^portico: warning: domains that share the ledger are served in different places: http:\/\/127\.0\.0\.1:8081: wallets; in-process: .*\btransfers\b.*\n$/,
  )
})

test('openapi prints the document: exit code 0', async () => {
  const { code, out } = await portico(['openapi'])
  expect(code).toBe(0)
  expect(JSON.parse(out)).toMatchObject({ openapi: '3.1.1' })
})

test('openapi --channel sealed prints the document with sealed bodies: exit code 0', async () => {
  const [plain, sealed] = [await portico(['openapi']), await portico(['openapi', '--channel', 'sealed'])]
  expect(sealed.code).toBe(0)
  expect(JSON.parse(sealed.out).components.schemas).toHaveProperty('SealedBody')
  expect(JSON.parse(plain.out).components.schemas).not.toHaveProperty('SealedBody')
})

test('openapi --format postman prints a collection: exit code 0', async () => {
  const { code, out, err } = await portico(['openapi', '--format', 'postman'])
  expect([code, err]).toEqual([0, ''])
  expect(JSON.parse(out).variable).toContainEqual({ key: 'accessCode', value: 'consumer-dev' })
})

test('openapi into a pipe that is closed early: exit code 0, no error', async () => {
  const child = spawn(process.execPath, ['bin/portico.js', 'openapi'], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
  child.stdout.once('data', () => child.stdout.destroy())
  const [err] = await Promise.all([text(child.stderr), once(child, 'close')])
  expect([child.exitCode, err]).toEqual([0, ''])
})

test(
  'openapi onto a full disk reports the error: exit code 1',
  needs(existsSync('/dev/full'), 'this system has no /dev/full'),
  async () => {
    const { code, err } = await run('/bin/sh', ['-c', `${process.execPath} bin/portico.js openapi > /dev/full`])
    expect([code, err]).toEqual([1, 'portico: ENOSPC: no space left on device, write\n'])
  },
)

describe('long-running commands on a new store', () => {
  let store: Awaited<ReturnType<typeof seededDirectory>>
  beforeAll(async () => {
    store = await seededDirectory()
  })
  afterAll(() => store?.remove())

  test('serve: the log line `listening` names the store', async () => {
    const log = captureLog()
    const running = await serve(
      bankingDomains,
      testSettings({ PORTICO_DATA_DIR: store.directory }),
      'gateway',
      log.logger,
    )
    await running.stop()
    expect(log.lines.find(({ msg }) => msg === 'listening')).toMatchObject({ store: `embedded ${store.directory}` })
  })

  test('serve on a port in use names its variable, and releases the other port: exit code 1', async () => {
    const [port, free] = [await freePort(), await freePort()]
    const taken = createServer().listen(port, '127.0.0.1')
    await once(taken, 'listening')
    const listening = { host: '127.0.0.1', port: free, operationsPort: port }
    const settings = testSettings({ PORTICO_DATA_DIR: store.directory }, (draft) => {
      Object.assign(draft.listen, listening)
    })
    await expect(serve(bankingDomains, settings, 'gateway', captureLog().logger)).rejects.toThrow(
      /^cannot listen on listen\.operationsPort \(OPS_PORT\)/,
    )
    const again = createServer().listen(free, '127.0.0.1')
    await once(again, 'listening')
    const variables = { PORTICO_DATA_DIR: store.directory, PORT: String(port), OPS_PORT: '0', LOG_LEVEL: 'error' }
    const { code, out, err } = await portico(['serve'], variables)
    expect([code, out]).toEqual([1, ''])
    expect(err).toContain('portico: cannot listen on listen.port (PORT) and listen.host (HOST): listen EADDRINUSE')
    taken.close()
    again.close()
  })

  const long = [
    ['migrate', 'the schema is up to date'],
    ['ledger verify', 'the ledger is consistent'],
    ['audit verify', 'intact: '],
  ] as const

  test.each(long)('%s into a pipe prints its result and no progress', async (name, verdict) => {
    const { code, out, err } = await portico(name.split(' '), { PORTICO_DATA_DIR: store.directory })
    expect([code, err]).toEqual([0, ''])
    expect(out).toContain(verdict)
  })

  // `script` provides a pseudo-terminal.
  test.each(long)(
    '%s on a terminal draws its progress',
    needs(existsSync('/usr/bin/script'), 'script(1) is not installed'),
    async (name, verdict) => {
      const line = `${process.execPath} bin/portico.js ${name}`
      const variables = { PORTICO_DATA_DIR: store.directory }
      const { code, out } = await run('/usr/bin/script', ['-qec', line, '/dev/null'], variables)
      expect(code).toBe(0)
      expect(out).toMatch(/\r\[[ #]{30}\] /)
      expect(out).toContain(verdict)
    },
  )
})
