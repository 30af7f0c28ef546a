import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../src/seed/development.ts'
import { operationsOf } from '../documents/described.ts'
import { runCli } from '../harness/cli.ts'
import { startConfigured } from '../harness/configured.ts'
import { type Call, send } from '../harness/http.ts'
import { freePort } from '../harness/postgres.ts'
import type { PorticoProcess } from '../harness/process.ts'
import { outboxOf, signIn } from '../harness/sign-in.ts'
import { createStore, type TestStore } from '../harness/store.ts'

type Json = Record<string, unknown>

const { workspace } = developmentIds
const extensions = ['./examples/loans/index.ts']
const domains = { loans: { maxAmount: '5000.00' } }
const backends = { loans: { url: 'http://127.0.0.1:9' } }
const loan = {
  bizId: '01990000-0000-7000-8000-0000000000d1',
  amount: '10.00',
  repaidAmount: '0.00',
  currency: 'USD',
  loanStatus: { code: 'REQUESTED', value: 20000101, label: 'Requested', description: 'The loan waits for approval' },
  createdAt: '2026-08-01T00:00:00.000Z',
}

describe('the document of a gateway as the input of another gateway', () => {
  let folder: string
  /** The document of a gateway with the extension `loans`. */
  let file: string
  let printed: Json

  const print = async (name: string, configuration: object): Promise<string> => {
    const { code, out, err } = await runCli(['openapi'], configuration)
    expect(code, err).toBe(0)
    const path = join(folder, name)
    await writeFile(path, out)
    return path
  }
  const check = async (configuration: object) => {
    const { code, err } = await runCli(['config', 'check'], configuration)
    return [code, err]
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'portico-documents-'))
    file = await print('loans.json', { extensions, domains })
    printed = JSON.parse(await readFile(file, 'utf8'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test('config check accepts the whole catalogue of the default gateway: exit code 0', async () => {
    expect(await check({ operations: [await print('default.json', {})] })).toEqual([0, ''])
  })

  test('config check accepts the document of a gateway with an extension: exit code 0', async () => {
    expect(await check({ operations: [file], backends })).toEqual([0, ''])
  })

  test('config check names an operation that the gateway has with another policy: exit code 2', async () => {
    const changed = join(folder, 'changed.json')
    const listWallets = JSON.stringify(printed).split('"id":"wallets.list"')
    expect(listWallets.length).toBeGreaterThan(1)
    const [before = '', ...after] = listWallets
    await writeFile(
      changed,
      [before, ...after.map((text) => text.replace('"rate":"general"', '"rate":"money"'))].join('"id":"wallets.list"'),
    )
    const [code, err] = await check({ operations: [changed], backends })
    expect(code).toBe(2)
    const error = 'x-portico: policy.rate: differs from the operation wallets.list of the gateway'
    expect(err).toContain(`operations: ${changed}: GET /web/v1/consumer/wallets: ${error}`)
    expect(err).toContain('the configuration has 1 error(s)')
  })

  test('the operations of a domain that is off stay off', async () => {
    const configuration = { operations: [file], domains: { exchanges: 'off' }, backends }
    expect(await check(configuration)).toEqual([0, ''])
    const { out } = await runCli(['openapi'], configuration)
    const places = [...operationsOf(JSON.parse(out)).keys()]
    expect(places.filter((place) => place.includes('exchange'))).toEqual([])
    expect(places).toContain('get /web/v1/consumer/loans')
  })

  describe('with a service that the test controls', () => {
    let store: TestStore
    let gateway: PorticoProcess
    let service: Server
    let token: string
    let reply: { status: number; body: unknown }
    const seen: unknown[] = []
    const call = (method: string, path: string, options?: Call) => send(gateway.url, method, path, options)
    const apply = (body: unknown) => call('POST', '/web/v1/consumer/loans', { token, workspace, body })

    beforeAll(async () => {
      service = createServer((request, response) => {
        void text(request).then((body) => {
          seen.push([request.method, request.url, body])
          response.writeHead(reply.status, { 'content-type': 'application/json' }).end(JSON.stringify(reply.body))
        })
      })
      const port = await freePort()
      await once(service.listen(port, '127.0.0.1'), 'listening')
      store = await createStore()
      gateway = await startConfigured(store.variables, {
        operations: [file],
        backends: { loans: { url: `http://127.0.0.1:${port}` } },
      })
      token = (await signIn({ call, mailTo: outboxOf(gateway) })).accessToken
    })
    afterAll(async () => {
      await gateway?.stop()
      service?.close()
      await store?.remove()
    })

    test('loans.apply 200: the service gets the call, the client its reply', async () => {
      reply = { status: 200, body: loan }
      const answer = await apply({ amount: '10.00', currency: 'USD' })
      expect(answer.status, answer.text).toBe(200)
      expect(answer.body.data).toEqual(loan)
      expect(seen).toEqual([['POST', '/web/v1/consumer/loans', '{"amount":"10.00","currency":"USD"}']])
    })

    test('loans.apply 422 LOAN.NOT_ELIGIBLE: the message comes from the document, in the requested language', async () => {
      reply = { status: 422, body: { success: false, code: 'LOAN.NOT_ELIGIBLE', message: '', data: null } }
      const answer = await apply({ amount: '10.00', currency: 'USD' })
      expect([answer.status, answer.body.code]).toEqual([422, 'LOAN.NOT_ELIGIBLE'])
      expect(answer.body.message).toBe('the workspace is not eligible for this loan')
      const headers = { 'X-Locale': 'ja' }
      const options = { token, workspace, headers, body: { amount: '10.00', currency: 'USD' } }
      const inJapanese = await call('POST', '/web/v1/consumer/loans', options)
      expect(inJapanese.body.message).toBe('このワークスペースは融資の対象外です')
    })

    test('/openapi.json describes the same operations of loans, with the same declarations', async () => {
      const document: Json = await (await fetch(`${gateway.url}/openapi.json`)).json()
      const loansOf = (all: Json) => [...operationsOf(all)].filter(([place]) => place.includes('/loans'))
      expect(loansOf(document)).toHaveLength(7)
      expect(loansOf(document)).toEqual(loansOf(printed))
      const declarations = { codes: expect.anything(), permissions: expect.anything(), texts: expect.anything() }
      expect(document['x-portico']).toMatchObject(declarations)
    })
  })
})
