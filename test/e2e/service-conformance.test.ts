import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { decodeJwt } from 'jose'
import { dump } from 'js-yaml'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bankingDomains } from '../../src/banking/index.ts'
import { type Running, startServer } from '../../src/main.ts'
import { developmentIds } from '../../src/seed/development.ts'
import { runCli } from '../harness/cli.ts'
import { captureLog } from '../harness/log.ts'
import { freePort } from '../harness/postgres.ts'
import { testSettings } from '../harness/settings.ts'
import { signInAt } from '../harness/sign-in.ts'
import { createStore, type TestStore } from '../harness/store.ts'

describe('portico conformance --upstream with the domain service of Portico', () => {
  let store: TestStore
  let service: Running
  let folder: string
  let account: string
  let jwks: string

  /** The gateway seeds the store, which one process can use. */
  const readOwner = async (): Promise<string> => {
    const gateway = await startServer(bankingDomains, testSettings(store.variables), 'gateway', captureLog().logger)
    const [url, operationsUrl] = [gateway.port, gateway.operationsPort].map((port) => `http://127.0.0.1:${port}`)
    const { accessToken } = await signInAt({ url: url ?? '', operationsUrl: operationsUrl ?? '' })
    await gateway.stop()
    return decodeJwt(accessToken).sub ?? ''
  }

  beforeAll(async () => {
    store = await createStore()
    folder = await mkdtemp(join(tmpdir(), 'portico-service-'))
    account = await readOwner()
    jwks = `127.0.0.1:${await freePort()}`
    const settings = testSettings(store.variables, ({ assertion }) => {
      assertion.jwksUrl = `http://${jwks}/.well-known/jwks.json`
    })
    service = await startServer(bankingDomains, settings, 'domains', captureLog().logger)
  })
  afterAll(async () => {
    await service?.stop()
    await store?.remove()
    await rm(folder, { recursive: true, force: true })
  })

  const check = async (domains: readonly string[], samples: object = {}) => {
    const file = join(folder, 'samples.yaml')
    await writeFile(file, dump(samples))
    const names = domains.flatMap((name) => ['--domain', name])
    const upstream = `http://127.0.0.1:${service.port}`
    const options = ['--jwks', jwks, '--account', account, '--samples', file]
    return runCli(['conformance', '--upstream', upstream, ...names, ...options], {})
  }

  test.each(['profile', 'constants', 'workspaces', 'recharges', 'withdrawals', 'operators'])(
    '%s passes: exit code 0',
    async (domain) => {
      const { code, out, err } = await check([domain])
      expect(code, out + err).toBe(0)
      expect(out).toMatch(/^an expired assertion is refused +\d+ {2}ok$/m)
      expect(out).toMatch(/\n\d+ passed, 0 failed, \d+ not checked\n$/)
    },
  )

  test('wallets and transfers with a sample: the command is executed once for one key, exit code 0', async () => {
    const { mainUsd, mainEur, savingsUsd } = developmentIds
    const body = { sourceWalletBizId: mainUsd, targetWalletBizId: savingsUsd, amount: '1.00', currency: 'USD' }
    const { code, out, err } = await check(['wallets', 'transfers'], {
      // A wallet that the transfer does not need.
      'wallets.freeze': { params: { wallet_id: mainEur } },
      'transfers.create': { body },
    })
    expect(code, out + err).toBe(0)
    for (const line of [
      'wallets.read: the reply matches its schema',
      'wallets.flows: the reply matches its schema',
      'transfers.create: the reply matches its schema',
      'transfers.create: a repeated Idempotency-Key returns the first reply',
      'transfers.create: Idempotency-Key with another body is refused',
      'an unknown id is refused as such',
    ])
      expect(out).toMatch(new RegExp(`^${line} +\\d+ {2}ok$`, 'm'))
  })

  test('another audience: the error names what to compare, exit code 1', async () => {
    const upstream = `http://127.0.0.1:${service.port}`
    const args = ['--upstream', upstream, '--domain', 'profile', '--jwks', jwks, '--audience', 'another']
    const { code, out, err } = await runCli(['conformance', ...args], {})
    expect([code, out]).toEqual([1, ''])
    expect(err).toContain('waiting up to 35 s until the service fetches the keys\n')
    expect(err).toContain('replies 401 to profile.read: compare its issuer and audience')
  })
})

describe('portico conformance --upstream', () => {
  const profile = ['--domain', 'profile']

  test('a service that is not running is named: exit code 1', async () => {
    const [upstream, jwks] = [`http://127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`]
    const { code, err } = await runCli(['conformance', '--upstream', upstream, ...profile, '--jwks', jwks], {})
    expect(code).toBe(1)
    expect(err).toContain(`portico: --upstream: cannot reach ${upstream}/: connect ECONNREFUSED`)
  })

  test('a port for the keys that is in use is named: exit code 1', async () => {
    const port = await freePort()
    const taken = createServer().listen(port, '127.0.0.1')
    await once(taken, 'listening')
    const args = ['--upstream', 'http://127.0.0.1:9', ...profile, '--jwks', `127.0.0.1:${port}`]
    const { code, err } = await runCli(['conformance', ...args], {})
    taken.close()
    expect(code).toBe(1)
    expect(err).toContain(`cannot serve keys at 127.0.0.1:${port}: stop the gateway, or set --jwks and the service`)
  })

  test('a service that fails a check: the reasons are listed, exit code 1', async () => {
    const careless = createHttpServer((_request, response) =>
      response.setHeader('content-type', 'application/json').end('{"bizId":"one"}'),
    )
    await once(careless.listen(0, '127.0.0.1'), 'listening')
    const address = careless.address()
    const upstream = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
    const jwks = `127.0.0.1:${await freePort()}`
    const { code, out } = await runCli(['conformance', '--upstream', upstream, ...profile, '--jwks', jwks], {})
    careless.close()
    expect(code).toBe(1)
    expect(out).toMatch(/^profile\.read: the reply matches its schema +1 {2}1 failed\n {4}data\.institutionBizId: /m)
    expect(out).toMatch(/^an expired assertion is refused +2 {2}2 failed\n {4}profile\.read: expected 401/m)
    expect(out).toContain('\n0 passed, 11 failed, 0 not checked\n')
  })

  test.each<[string, object, string]>([
    ['an unknown operation', { 'profile.erase': {} }, 'profile.erase is not an operation of the domain'],
    ['an invalid field', { 'profile.update': { body: { accountName: 1 } } }, 'profile.update: body.accountName: '],
    ['an unknown key', { 'profile.read': { text: 1 } }, 'profile.read: '],
    ['an unknown parameter', { 'profile.read': { params: { id: 'x' } } }, 'profile.read: params.id: the path has no'],
  ])('samples with %s are refused with its name: exit code 2', async (_name, samples, message) => {
    const folder = await mkdtemp(join(tmpdir(), 'portico-samples-'))
    const file = join(folder, 'samples.yaml')
    await writeFile(file, dump(samples))
    const args = ['conformance', '--upstream', 'http://127.0.0.1:9', ...profile, '--samples', file]
    const { code, out, err } = await runCli(args, {})
    await rm(folder, { recursive: true })
    expect([code, out]).toEqual([2, ''])
    expect(err).toContain(`portico: --samples: ${message}`)
  })

  test('domains with two audiences are refused: exit code 2', async () => {
    const backends = {
      profile: { url: 'http://127.0.0.1:8081', audience: 'one' },
      constants: { url: 'http://127.0.0.1:8082', audience: 'two' },
    }
    const args = ['conformance', '--upstream', 'http://127.0.0.1:8081', ...profile, '--domain', 'constants']
    const { code, err } = await runCli(args, { backends })
    expect(code).toBe(2)
    expect(err).toContain('profile, constants have different audiences in `backends`')
  })
})
