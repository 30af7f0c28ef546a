import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { load } from 'js-yaml'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { developmentIds } from '../../src/seed/development.ts'
import { runCli, runProgram } from '../harness/cli.ts'
import { startConfigured } from '../harness/configured.ts'
import { type Answer, type Call, send } from '../harness/http.ts'
import { needs } from '../harness/needs.ts'
import { freePort } from '../harness/postgres.ts'
import type { PorticoProcess } from '../harness/process.ts'
import { noPython, python } from '../harness/python.ts'
import { root } from '../harness/settings.ts'
import { outboxOf, signIn } from '../harness/sign-in.ts'
import { createStore, type TestStore } from '../harness/store.ts'

const document = 'examples/cards-service/cards.yaml'
const workspace = developmentIds.workspace
const card = { bizId: '01990000-0000-7000-8000-0000000000c1', lastDigits: '4242', status: 'ACTIVE' }
const blockPath = `/web/v1/consumer/cards/${card.bizId}/block`

async function clientsOf(gateway: PorticoProcess) {
  const call = (method: string, path: string, options?: Call): Promise<Answer> =>
    send(gateway.url, method, path, options)
  const mailTo = outboxOf(gateway)
  const tokenOf = async (email: string) => (await signIn({ call, mailTo }, email)).accessToken
  return { call, owner: await tokenOf('owner@demo.test'), member: await tokenOf('member@demo.test') }
}

describe('operations of an OpenAPI document', () => {
  describe('with a service that the test controls', () => {
    let store: TestStore
    let gateway: PorticoProcess
    let service: Server
    let clients: Awaited<ReturnType<typeof clientsOf>>
    let reply: { status: number; body: unknown }
    let seen: { path: string; body: string }[] = []
    const block = (body: unknown, token = clients.owner) => clients.call('POST', blockPath, { token, workspace, body })

    beforeAll(async () => {
      service = createServer((request, response) => {
        let body = ''
        request.on('data', (chunk) => {
          body += String(chunk)
        })
        request.on('end', () => {
          seen.push({ path: request.url ?? '', body })
          response.writeHead(reply.status, { 'content-type': 'application/json' }).end(JSON.stringify(reply.body))
        })
      })
      const port = await freePort()
      await new Promise<void>((resolve) => service.listen(port, '127.0.0.1', resolve))
      store = await createStore()
      const backends = { cards: { url: `http://127.0.0.1:${port}` } }
      gateway = await startConfigured(
        { ...store.variables, PORTICO_RATE_LIMIT_SCALE: '1000' },
        { operations: [document], backends },
      )
      clients = await clientsOf(gateway)
    })
    afterAll(async () => {
      await gateway?.stop()
      service?.close()
      await store?.remove()
    })

    test('cards.list 200: forwards the call and wraps the reply in the envelope', async () => {
      reply = { status: 200, body: [{ ...card, fullPan: '4242424242424242', internal: { pinHash: 'x' } }] }
      const answer = await clients.call('GET', '/web/v1/consumer/cards', { token: clients.owner, workspace })
      expect(answer.status, answer.text).toBe(200)
      expect(answer.body).toMatchObject({ version: '2.0.0', success: true })
      expect(answer.body.data).toEqual([card])
    })

    test('cards.list 502 SYSTEM.UPSTREAM_INVALID_RESPONSE: a reply that breaks the schema', async () => {
      reply = { status: 200, body: [{ ...card, lastDigits: '42' }] }
      const answer = await clients.call('GET', '/web/v1/consumer/cards', { token: clients.owner, workspace })
      expect([answer.status, answer.body.code]).toEqual([502, 'SYSTEM.UPSTREAM_INVALID_RESPONSE'])
    })

    test('cards.block 422 CARD.NOT_ACTIVE: the service refuses with its code, the document has the sentence', async () => {
      reply = { status: 422, body: { success: false, code: 'CARD.NOT_ACTIVE', message: 'internal', data: null } }
      const answer = await block({ reason: 'lost' })
      expect([answer.status, answer.body.code]).toEqual([422, 'CARD.NOT_ACTIVE'])
      expect(answer.body.message).toBe('the card is not active')
    })

    test('cards.block 400 VALIDATION.INVALID_PARAMETER: unknown, missing and wrong fields do not reach the service', async () => {
      seen = []
      for (const body of [{}, { reason: '' }, { reason: 'lost', colour: 'red' }, { reason: 1 }]) {
        const answer = await block(body)
        expect([answer.status, answer.body.code]).toEqual([400, 'VALIDATION.INVALID_PARAMETER'])
      }
      expect(seen).toEqual([])
    })

    test('cards.block 403 ACCESS.PERMISSION_DENIED: a member without card:block', async () => {
      const answer = await block({ reason: 'lost' }, clients.member)
      expect([answer.status, answer.body.code]).toEqual([403, 'ACCESS.PERMISSION_DENIED'])
    })

    test('cards.list 400 ACCESS.WORKSPACE_REQUIRED and 401 ACCESS.TOKEN_MISSING: the policy of the document applies', async () => {
      const without = await clients.call('GET', '/web/v1/consumer/cards', { token: clients.owner })
      expect([without.status, without.body.code]).toEqual([400, 'ACCESS.WORKSPACE_REQUIRED'])
      const anonymous = await clients.call('GET', '/web/v1/consumer/cards', { workspace })
      expect([anonymous.status, anonymous.body.code]).toEqual([401, 'ACCESS.TOKEN_MISSING'])
    })

    test('the permission tree and /openapi.json contain the declarations of the document', async () => {
      const tree = await clients.call('GET', '/web/v1/consumer/roles/permissions/tree', {
        token: clients.owner,
        workspace,
      })
      expect(tree.text).toContain('"card:block"')
      expect(tree.text).toContain('"Block cards"')
      const { paths } = await (await fetch(`${gateway.url}/openapi.json`)).json()
      expect(paths['/web/v1/consumer/cards'].get['x-portico']).toMatchObject({ id: 'cards.list', name: 'listCards' })
    })
  })

  describe('with the example service in Python', () => {
    let store: TestStore
    let gateway: PorticoProcess
    const services: ChildProcess[] = []
    let clients: Awaited<ReturnType<typeof clientsOf>>

    const backendsAt = (url: string) => ({ cards: { url, audience: 'cards-service' } })
    const startService = async (url: string, keysUrl: string): Promise<void> => {
      const env = { ...process.env, PORT: new URL(url).port, PORTICO_JWKS: `${keysUrl}/.well-known/jwks.json` }
      services.push(spawn(python ?? '', ['examples/cards-service/service.py'], { cwd: root, env }))
      await vi.waitFor(async () => expect((await fetch(url)).status).toBe(401), { timeout: 60_000 })
    }

    beforeAll(async () => {
      if (!python) return
      const url = `http://127.0.0.1:${await freePort()}`
      store = await createStore()
      gateway = await startConfigured(store.variables, { operations: [document], backends: backendsAt(url) })
      await startService(url, gateway.operationsUrl)
      clients = await clientsOf(gateway)
    })
    afterAll(async () => {
      for (const service of services) service.kill()
      await gateway?.stop()
      await store?.remove()
    })

    test('cards.block 200 once, then 422 CARD.NOT_ACTIVE', needs(python, noPython), async () => {
      const { call, owner: token } = clients
      const block = () => call('POST', blockPath, { token, workspace, body: { reason: 'lost' } })
      const first = await block()
      expect(first.body.data, first.text).toEqual({ ...card, status: 'BLOCKED' })
      expect((await block()).body.code).toBe('CARD.NOT_ACTIVE')
      const listed = await call('GET', '/web/v1/consumer/cards', { token, workspace })
      expect(listed.body.data).toEqual([{ ...card, status: 'BLOCKED' }])
    })

    test(
      'conformance --upstream checks every operation of the document: exit code 0',
      needs(python, noPython),
      async () => {
        const [url, keys] = [`http://127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`]
        await startService(url, `http://${keys}`)
        const { code, out, err } = await runCli(
          ['conformance', '--upstream', url, '--domain', 'cards', '--jwks', keys],
          { operations: [document], backends: backendsAt(url) },
        )
        expect(code, out + err).toBe(0)
        for (const line of [
          'cards.list: the reply matches its schema',
          'cards.block: the reply matches its schema',
          'an unknown id is refused as such',
          'a call without an assertion is refused',
          'an assertion for another audience is refused',
        ])
          expect(out).toMatch(new RegExp(`^${line} +\\d+ {2}ok$`, 'm'))
        expect(out).toContain('\n12 passed, 0 failed, 0 not checked\n')
      },
    )
  })

  describe('a document with errors', () => {
    let folder: string
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'portico-document-'))
    })
    afterAll(() => rm(folder, { recursive: true, force: true }))

    const backends = { cards: { url: 'http://127.0.0.1:9' } }
    const checkChanged = async (from: string, to: string, configuration: object = { backends }) => {
      const text = await readFile(document, 'utf8')
      expect(text).toContain(from)
      const file = join(folder, 'changed.yaml')
      await writeFile(
        file,
        text.replace(from, () => to),
      )
      return runCli(['config', 'check'], { operations: [file], ...configuration })
    }

    test.each([
      ['a missing key of a policy', '          rate: general\n', '', 'GET /cards: x-portico: policy: rate'],
      ['an undeclared permission', 'permission: card:read', 'permission: card:burn', 'card:burn'],
      ['an undeclared code', 'refuses: [RESOURCE.NOT_FOUND, CARD.NOT_ACTIVE]', 'refuses: [CARD.LOST]', 'CARD.LOST'],
      [
        'a code without a text',
        'refusal: { CARD.NOT_ACTIVE: the card is not active }',
        'refusal: {}',
        'refusal.CARD.NOT_ACTIVE',
      ],
      ['an unknown chain', 'chains: [consumer, api]', 'chains: [admin]', 'GET /cards: x-portico: chains'],
      [
        'a reference to nothing',
        "items: { $ref: '#/components/schemas/Card' }",
        "items: { $ref: '#/components/schemas/Nothing' }",
        'GET /cards: responses: #/components/schemas/Nothing does not exist',
      ],
      [
        'an unsupported keyword',
        'minLength: 1',
        'minLength: 1, if: { type: number }',
        'POST /cards/{card_id}/block: requestBody: properties.reason.if: this keyword is not supported',
      ],
      [
        'a slow pattern',
        'minLength: 1',
        "minLength: 1, pattern: '^(\\w+\\s?)*$'",
        'POST /cards/{card_id}/block: requestBody: properties.reason.pattern: the pattern ^(\\w+\\s?)*$ can take super-linear time',
      ],
      [
        'a slow pattern in a reply',
        "pattern: '^\\d{4}$'",
        "pattern: '^(\\d+)+$'",
        'GET /cards: responses: items.properties.lastDigits.pattern: the pattern ^(\\d+)+$ can take super-linear time',
      ],
      ['a missing path parameter', 'name: card_id', 'name: other', 'the path parameter card_id is missing'],
      [
        'a success other than 200',
        "'200':\n          description: The blocked card.",
        "'201':\n          description: The blocked card.",
        'POST /cards/{card_id}/block: responses: 201: the only success must be 200',
      ],
      [
        'several successes',
        "'200':\n          description: The cards.",
        "'202': { description: Later. }\n        '200':\n          description: The cards.",
        'GET /cards: responses: 202: the only success must be 200',
      ],
      [
        'a success in another kind of JSON',
        'application/json:\n              schema: { type: array',
        'application/hal+json:\n              schema: { type: array',
        'GET /cards: responses: 200: content: must be application/json',
      ],
      ['a route of Portico', '  /cards:\n', '  /wallets:\n', 'route'],
      ['another version of OpenAPI', 'openapi: 3.1.0', 'openapi: 3.0.3', 'openapi: must be an OpenAPI 3.1 document'],
    ])('config check names the operation and the cause of %s: exit code 2', async (_, from, to, error) => {
      const checked = await checkChanged(from, to)
      expect([checked.code, checked.err]).toEqual([2, expect.stringContaining(error)])
      expect(checked.err).toContain('changed.yaml')
    })

    test('serve refuses to start with a slow pattern, and names its operation and field: exit code 2', async () => {
      const file = join(folder, 'slow.yaml')
      const text = await readFile(document, 'utf8')
      const slow = "minLength: 1, pattern: '^(\\w+\\s?)*$'"
      await writeFile(
        file,
        text.replace('minLength: 1', () => slow),
      )
      const { code, err } = await runCli(['serve'], { operations: [file], backends })
      const field = 'POST /cards/{card_id}/block: requestBody: properties.reason.pattern'
      expect([code, err]).toEqual([2, expect.stringContaining(field)])
    })

    test('config check requires a service for each domain of a document: exit code 2', async () => {
      const checked = await checkChanged('List the cards', 'List all cards', {})
      expect([checked.code, checked.err]).toEqual([
        2,
        expect.stringContaining('the domain cards needs backends.cards with a url'),
      ])
    })

    describe('init', () => {
      const plain = (title: string): string =>
        `openapi: 3.0.3\ninfo: { title: ${title}, version: "1" }\npaths: { /loans: { post: { operationId: apply-for_loan, summary: Apply } } }\n`
      const write = async (name: string, title = 't'): Promise<string> => {
        const file = join(folder, name)
        await writeFile(file, plain(title))
        return file
      }
      const init = (...args: readonly string[]) => runProgram(['init', ...args], {}, { cwd: folder })

      test('adds x-portico and lists what to decide, and config check rejects the result', async () => {
        const [from, to] = [await write('plain.yaml'), join(folder, 'marked.yaml')]
        const written = await init('--from', from, '--to', to, '--domain', 'loans')
        expect(written.code, written.err).toBe(0)
        expect(written.out).toContain(
          'POST /loans: decide chains, policy.workspace, policy.idempotent, policy.permission, refuses',
        )
        expect(load(await readFile(to, 'utf8'))).toMatchObject({
          paths: { '/loans': { post: { 'x-portico': { id: 'loans.applyForLoan', policy: { caller: 'account' } } } } },
        })
        const checked = await runCli(['config', 'check'], { operations: [to] })
        expect([checked.code, checked.err]).toEqual([2, expect.stringContaining('x-portico: policy: workspace')])
        // `null` would allow every member.
        expect(checked.err).toContain('x-portico: policy: permission: must be a permission such as loan:create')
        const again = await init(from, '--to', to, '--domain', 'loans')
        expect([again.code, again.err]).toEqual([2, expect.stringContaining('exists already')])
      })

      test('needs only the file: takes the domain from the title and writes <name>.portico.yaml', async () => {
        await write('orders.yaml', 'Card Orders REST API')
        const { code, out, err } = await init('orders.yaml')
        expect(code, err).toBe(0)
        expect(out).toContain('wrote orders.portico.yaml with 1 new operations of the domain cardOrders\n')
        expect(load(await readFile(join(folder, 'orders.portico.yaml'), 'utf8'))).toMatchObject({
          'x-portico': { domains: { cardOrders: '' } },
          paths: { '/loans': { post: { 'x-portico': { id: 'cardOrders.applyForLoan' } } } },
        })
      })

      test.each<[string, string, readonly string[], string]>([
        ['no file', 't', [], 'an OpenAPI document is required, such as portico init openapi.yaml'],
        ['two files', 't', ['loans.yaml', '--from', 'loans.yaml'], 'give the file as an argument or with --from, not'],
        ['a missing file', 't', ['nowhere.yaml'], 'nowhere.yaml does not exist'],
        ['a title without a name', '融資', ['loans.yaml'], '--domain is required, such as --domain loans'],
        ['the title of a domain of Portico', 'Wallets API', ['loans.yaml'], 'the gateway has a domain wallets already'],
        ['an invalid domain', 't', ['loans.yaml', '--domain', 'Loans!'], '--domain must be a name such as loans'],
      ])('%s: exit code 2 with a hint, and no file is written', async (_name, title, args, message) => {
        await write('loans.yaml', title)
        const { code, out, err } = await init(...args)
        expect([code, out, err]).toEqual([2, '', expect.stringContaining(message)])
        await expect(readFile(join(folder, 'loans.portico.yaml'))).rejects.toThrow('ENOENT')
      })
    })
  })
})
