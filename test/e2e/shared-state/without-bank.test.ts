import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databaseTarget } from '../../../src/compose/store.ts'
import { openDatabase } from '../../../src/database/index.ts'
import { runCli } from '../../harness/cli.ts'
import { type Extended, startExtended } from '../../harness/extended.ts'
import { type Answer, type Call, send } from '../../harness/http.ts'
import { otpOf } from '../../harness/otp.ts'
import { testSettings } from '../../harness/settings.ts'
import { outboxOf, signIn } from '../../harness/sign-in.ts'

/** A domain of accounts: it knows no workspace and no money. */
const notes = `
  import { domain } from 'portico'
  import { operation, own, z } from 'portico/contract'
  const Note = z.strictObject({ text: z.string().max(100) })
  const base = { path: '/notes', chains: ['consumer', 'system'], refuses: [] }
  const operations = {
    writeNote: operation({ ...base, id: 'notes.write', method: 'POST', summary: 'Write a note',
      policy: { ...own, idempotent: true }, body: Note, reply: Note }),
    readNote: operation({ ...base, id: 'notes.read', method: 'GET', summary: 'Read the note',
      policy: own, body: 'none', reply: Note }),
  }
  const d = { name: 'notes', summary: 'Notes of an account.', operations, needs: ['cache', 'clock', 'once'],
    create: ({ cache, once }) => ({ handlers: {
      writeNote: (request) => once(request, async () => {
        await cache.set(request.caller.accountId, request.body.text, 60_000)
        return request.body
      }),
      readNote: async ({ caller }) => ({ text: (await cache.get(caller.accountId)) ?? '' }),
    } }) }
`

describe('a gateway without a bank', () => {
  let folder: string
  let deployed: Extended
  let configuration: { extensions: string[]; domains: { banking: 'off' } }
  let turn = 0
  const gatewayOf = (at: number) => deployed.gateways[at % deployed.gateways.length] ?? expect.fail('no gateway')
  /** Calls alternate between the replicas. */
  const call = (method: string, path: string, options?: Call): Promise<Answer> =>
    send(gatewayOf(turn++).url, method, path, options)
  const mailTo: ReturnType<typeof outboxOf> = (address, template) => outboxOf(gatewayOf(0))(address, template)
  const data = async (answer: Promise<Answer>) => {
    const { status, text, body } = await answer
    expect(status, text).toBe(200)
    return body.data
  }
  const extension = async (change = ''): Promise<string> => {
    const file = join(folder, `${crypto.randomUUID()}.js`)
    await writeFile(file, `${notes}\n${change}\nexport default domain(d)`)
    return file
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'portico-no-bank-'))
    configuration = { extensions: [await extension()], domains: { banking: 'off' } }
    deployed = await startExtended(configuration, { PORTICO_RATE_LIMIT_SCALE: '1000' })
  })
  afterAll(async () => {
    await deployed?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  test.each(['owner@demo.test', 'operator@demo.test'])(
    'login 200: %s signs in, adds a factor, refreshes and ends the session',
    async (email) => {
      const portal = email.startsWith('owner') ? 'consumer' : 'system'
      const { accessToken: token, refreshToken, sessionId } = await signIn({ call, mailTo }, email)
      const sessions = await data(call('GET', `/web/v1/${portal}/security/sessions`, { token }))
      expect(JSON.stringify(sessions)).toContain(sessionId)
      const { secret } = await data(call('POST', `/web/v1/${portal}/security/mfa/otp/setup`, { token }))
      await data(call('POST', `/web/v1/${portal}/security/mfa/otp/verify`, { token, body: { code: otpOf(secret) } }))
      const refreshed = await data(call('POST', `/web/v1/${portal}/auth/token/refresh`, { body: { refreshToken } }))
      await data(call('POST', `/web/v1/${portal}/auth/logout`, { token: refreshed.accessToken }))
      await expect
        .poll(
          async () =>
            (await call('GET', `/web/v1/${portal}/security/sessions`, { token: refreshed.accessToken })).status,
        )
        .toBe(401)
    },
  )

  test('notes.write 200: an own domain works for both portals, and a retry gets the first reply', async () => {
    for (const [email, portal] of [
      ['member@demo.test', 'consumer'],
      ['checker@demo.test', 'system'],
    ] as const) {
      const { accessToken: token } = await signIn({ call, mailTo }, email)
      const request = { token, body: { text: email }, headers: { 'x-request-id': crypto.randomUUID() } }
      await data(call('POST', `/web/v1/${portal}/notes`, request))
      expect(await data(call('POST', `/web/v1/${portal}/notes`, request))).toEqual({ text: email })
      expect(await data(call('GET', `/web/v1/${portal}/notes`, { token }))).toEqual({ text: email })
    }
  })

  test('wallets.list 404 ROUTE.NOT_FOUND: no operation of a domain of Portico exists', async () => {
    const { accessToken: token } = await signIn({ call, mailTo })
    for (const path of ['/wallets', '/profile', '/workspaces/mine', '/constants/countries'])
      expect((await call('GET', `/web/v1/consumer${path}`, { token })).body.code).toBe('ROUTE.NOT_FOUND')
  })

  test('the reference page, the OpenAPI document, health and metrics work, and name nothing of a bank', async () => {
    const { url, operationsUrl } = gatewayOf(0)
    expect((await fetch(`${url}/docs`)).status).toBe(200)
    const document = await (await fetch(`${url}/openapi.json`)).json()
    expect(Object.keys(document.paths)).toContain('/web/v1/consumer/notes')
    expect(Object.keys(document.paths).filter((path) => /wallet|workspace|transfer|operators/.test(path))).toEqual([])
    expect((await fetch(`${operationsUrl}/health/ready`)).status).toBe(200)
    const metrics = await (await fetch(`${operationsUrl}/metrics`)).text()
    expect(metrics).toContain('kind="identity.sweep"')
    expect(metrics).not.toMatch(/kind="(recharges|exchanges|members)\./)
    for (const process of deployed.processes) expect(process.output()).not.toMatch(/"level":"(error|fatal)"/)
  })

  test('config check, openapi, migrate and operator create: exit code 0', async () => {
    const variables = { PORTICO_DATA_DIR: join(folder, 'cli') }
    const checked = await runCli(['config', 'check'], configuration, variables)
    const [file] = configuration.extensions
    expect([checked.code, checked.err]).toEqual([0, `portico: extensions: ${file}: notes needs cache, clock, once\n`])
    expect((await runCli(['openapi'], configuration, variables)).code).toBe(0)
    expect((await runCli(['migrate'], configuration, variables)).code).toBe(0)
    const create = ['operator', 'create', '--email', 'first@demo.test', '--name', 'First', '--reason', 'a test']
    const created = await runCli(create, configuration, variables)
    expect([created.code, created.out]).toEqual([0, expect.stringContaining('with 1 permissions')])
  })

  test.each([
    ['owner restore', ['--workspace', crypto.randomUUID(), '--email', 'a@demo.test'], 'workspaces, members, proposals'],
    ['wallet open', ['--currency', 'USD', '--all-workspaces'], 'workspaces, wallets'],
    ['operator create', ['--email', 'b@demo.test', '--name', 'B', '--role', 'auditor'], 'operators'],
  ])('%s: refused without the bank, exit code 2', async (command, options, missing) => {
    const { code, out, err } = await runCli([...command.split(' '), ...options, '--reason', 'x'], configuration)
    expect([code, out]).toEqual([2, ''])
    expect(err).toContain(`needs ${missing} of Portico's own domains, which this gateway lacks`)
  })

  test('operator grant, suspend 0: permissions of an extension, without a mail that nobody sends', async () => {
    const declared = await extension(
      "d.permissions = { operator: { note: ['read'] } }; d.locales = new URL('./', import.meta.url)",
    )
    const text = { permission: { 'note:read': { name: 'Read notes', description: 'Read notes' } } }
    await writeFile(join(folder, 'en.yaml'), JSON.stringify(text))
    const variables = { PORTICO_DATA_DIR: join(folder, 'rights'), DATABASE_URL: '' }
    const run = (...args: string[]) => runCli(args, { ...configuration, extensions: [declared] }, variables)
    const account = ['--email', 'c@demo.test', '--reason', 'a test']
    await run('operator', 'create', ...account, '--name', 'C', '--permissions', 'note:read')
    expect((await run('operator', 'revoke', ...account, '--permissions', 'note:read')).code).toBe(0)
    const granted = await run('operator', 'grant', ...account, '--permissions', 'note:read')
    expect([granted.code, granted.out]).toEqual([0, expect.stringContaining('1 permissions: note:read')])
    const suspended = await run('operator', 'suspend', 'c@demo.test', '--reason', 'a test')
    expect(suspended, suspended.err).toMatchObject({ code: 0, out: 'c@demo.test is SUSPENDED\n' })
    const settings = testSettings({ PORTICO_DATA_DIR: variables.PORTICO_DATA_DIR })
    const store = await openDatabase(databaseTarget(settings, () => undefined))
    expect(
      await store.database
        .selectFrom('jobs')
        .select('kind')
        .where('kind', 'in', ['proposals.notice', 'operators.mailDecision'])
        .execute(),
    ).toEqual([])
    await store.close()
  })

  test('load 1: names the domains that the target lacks', async () => {
    const { url, operationsUrl } = gatewayOf(0)
    const { code, err } = await runCli(['load', '--url', url, '--operations-url', operationsUrl, '--duration', '1'], {})
    expect([code, err]).toEqual([1, expect.stringContaining('the target needs the domains profile, members, wallets')])
  })

  test.each([
    [
      'an operation of a workspace',
      "operations.readNote = { ...operations.readNote, chains: ['consumer'], policy: { ...own, workspace: 'required' } }",
      "operations.readNote.policy.workspace: 'required' needs workspaces and members",
    ],
    [
      'a domain of the bank',
      "d.uses = ['members']",
      'domains.banking: cannot be off, because notes uses members; switch off both or none',
    ],
    ['a port of the bank', "d.needs = ['cache', 'once', 'workspaces']", 'needs: workspaces is a port of workspaces'],
    [
      'a name of the bank',
      "d.name = 'wallets'; operations.writeNote = { ...operations.writeNote, id: 'wallets.write' }; operations.readNote = { ...operations.readNote, id: 'wallets.read' }",
      'the name wallets is used twice',
    ],
  ])('config check with %s: names what is missing, exit code 2', async (_, change, error) => {
    const file = await extension(change)
    const checked = await runCli(['config', 'check'], { ...configuration, extensions: [file] })
    expect([checked.code, checked.err]).toEqual([2, expect.stringContaining(error)])
  })

  test('config check with approved registrations: nobody can approve them, exit code 2', async () => {
    const portals = { CONSUMER: { selfRegistration: 'approval' } }
    const checked = await runCli(['config', 'check'], { ...configuration, portals })
    const error = 'portals.CONSUMER.selfRegistration: approval needs operators'
    expect([checked.code, checked.err]).toEqual([2, expect.stringContaining(error)])
  })
})
