import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { toolPath } from '../../scripts/tool.ts'
import type { PorticoProcess } from '../harness/process.ts'
import { root } from '../harness/settings.ts'
import { userEnvironment } from './environment.ts'
import { copyExample, folderIn, runIn, startIn } from './user.ts'

/** Signs in and prints the names of the open wallets. `annotation` is a type in TypeScript. */
function program(imports: string, annotation: (type: string) => string): string {
  return `
${imports}
const [baseUrl = '', operationsUrl = ''] = process.argv.slice(2)
const email = 'owner@demo.test'
const readCode = async () => {
  const mails${annotation('{ to: string; text: string }[]')} = await (await fetch(operationsUrl + '/mail.json')).json()
  return /\\b\\d{6}\\b/.exec(mails.find(({ to }) => to === email)?.text ?? '')?.[0] ?? ''
}
const client = createClient({ baseUrl, portal: 'CONSUMER', accessCode: 'consumer-dev', edgeHeaders: true })
await client.signIn({ email, password: 'Portico-demo-2026', code: readCode })
const wallets${annotation('Wallet[]')} = await client.listWallets()
const [first] = wallets
if (first === undefined) throw new Error('no wallet')
const { bizId, workspaceBizId } = first
const balance = await client.readBalance({ workspaceId: workspaceBizId, params: { wallet_id: bizId } })
const refused = await client.readRole({ workspaceId: workspaceBizId, params: { role_id: bizId } }).catch((error) => error)
console.log(JSON.stringify([
  wallets.filter(({ walletStatus }) => walletStatus.code === 'ACTIVE').map(({ walletName }) => walletName),
  balance.currency,
  isPorticoError(refused, 'RESOURCE.NOT_FOUND'),
]))
await client.signOut()
`
}

/** Calls operations of an OpenAPI document and of an extension by the module that `portico client` has written. */
const ownDomains = `
import { createApiClient, createClient, isPorticoError } from 'portico-client'
import * as portico from './portico.js'
declare const process: { argv: string[] }
const [, , baseUrl = '', operationsUrl = ''] = process.argv
const email = 'owner@demo.test'
const readCode = async () => {
  const mails: { to: string; text: string }[] = await (await fetch(operationsUrl + '/mail.json')).json()
  return /\\b\\d{6}\\b/.exec(mails.find(({ to }) => to === email)?.text ?? '')?.[0] ?? ''
}
const edge = { baseUrl, accessCode: 'consumer-dev', edgeHeaders: true } as const
const client = createClient({ ...edge, portal: 'CONSUMER', contract: [portico] })
await client.signIn({ email, password: 'Portico-demo-2026', code: readCode })
const [{ bizId: workspaceId } = { bizId: '' }] = (await client.listMyWorkspaces()).map((each) => ({ bizId: each.workspaceBizId }))
const cards: portico.Card[] = await client.listCards({ workspaceId })
const [first] = cards
if (first === undefined) throw new Error('no card')
const params = { card_id: first.bizId }
const blocked = await client.blockCard({ workspaceId, params, body: { reason: 'lost' } })
const status: 'ACTIVE' | 'BLOCKED' = blocked.status
const refused = await client.blockCard({ workspaceId, params, body: { reason: 'again' } }).catch((error) => error)
const loan = await client.applyForLoan({ workspaceId, body: { amount: '10.00', currency: 'USD' } })
const loans: portico.Loan[] = await client.listLoans({ workspaceId })
console.log(JSON.stringify([
  first.lastDigits,
  status,
  isPorticoError(refused, 'CARD.NOT_ACTIVE'),
  loan.loanStatus.code === 'REQUESTED',
  loans.some(({ bizId }) => bizId === loan.bizId),
]))
const operator = createClient({ ...edge, portal: 'SYSTEM', contract: [portico] })
export const approve = operator.approveLoan
export const machine = createApiClient({ baseUrl, apiKey: 'none', contract: [portico] }).repayLoan
// @ts-expect-error: the workspace is missing
export const withoutWorkspace: () => Promise<unknown> = client.listCards
// @ts-expect-error: no such operation of the portal
client.approveLoan
// @ts-expect-error: the reason is missing
export const incomplete = () => client.blockCard({ workspaceId, params, body: {} })
`

/** The service of examples/cards-service, without its check of the call assertion. */
function startCards(): Server {
  const card = { bizId: '01990000-0000-7000-8000-0000000000c1', lastDigits: '4242', status: 'ACTIVE' }
  const refusal = { success: false, code: 'CARD.NOT_ACTIVE', message: '', data: null }
  return createServer((request, response) => {
    request.resume()
    const isRefused = request.method === 'POST' && card.status === 'BLOCKED'
    if (request.method === 'POST') card.status = 'BLOCKED'
    response.writeHead(isRefused ? 422 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(isRefused ? refusal : request.method === 'POST' ? card : [card]))
  }).listen(0, '127.0.0.1')
}

describe('portico-client in an empty folder', () => {
  let folder: string
  let gatewayFolder: string
  let gateway: PorticoProcess
  let service: Server
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'portico-front-end-'))
    await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }))
    const args = ['install', inject('package').client, '--prefer-offline', '--no-audit', '--no-fund', '--silent']
    execFileSync('npm', args, { cwd: folder, env: userEnvironment(), stdio: ['ignore', 'ignore', 'inherit'] })
    service = startCards()
    await once(service, 'listening')
    gatewayFolder = await folderIn('production')
    for (const name of ['loans', 'cards-service']) await copyExample(name, gatewayFolder)
    const configuration = {
      extensions: ['./examples/loans/index.ts'],
      domains: { loans: { maxAmount: '5000.00', capital: { USD: '1000000.00' } } },
      operations: ['./examples/cards-service/cards.yaml'],
      backends: { cards: { url: `http://127.0.0.1:${(service.address() as AddressInfo).port}` } },
    }
    await writeFile(join(gatewayFolder, 'portico.yaml'), JSON.stringify(configuration))
    gateway = await startIn(gatewayFolder, ['npx', 'portico', 'serve'], { PORTICO_CONFIG: 'portico.yaml' })
  })
  afterAll(async () => {
    await gateway?.stop()
    service?.close()
    await rm(folder, { recursive: true, force: true })
  })

  const run = async (file: string) => {
    const { stdout, stderr } = await runIn(folder, [
      'node',
      '--no-strip-types',
      file,
      gateway.url,
      gateway.operationsUrl,
    ])
    return stdout === '' ? stderr : JSON.parse(stdout)
  }
  const compile = async (file: string) => {
    const compilerOptions = { lib: ['DOM', 'ES2023'], types: [], target: 'es2023', module: 'nodenext', strict: true }
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: [file] }))
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    const compiled = await runIn(folder, ['node', tsc, '-p', '.', '--skipLibCheck', 'false'])
    expect(compiled).toEqual({ code: 0, stdout: '', stderr: '' })
  }
  const printed = [expect.arrayContaining(['Main USD', 'Savings USD']), 'USD', true]

  test('installs zod, the library for passkeys, and no other package', async () => {
    const installed = await readdir(join(folder, 'node_modules'))
    expect(installed.filter((name) => !name.startsWith('.')).sort()).toEqual([
      '@simplewebauthn',
      'portico-client',
      'zod',
    ])
    const files = await readdir(join(folder, 'node_modules/portico-client'))
    expect(files).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'client', 'package.json']))
    expect(files).not.toContain('api')
  })

  test.each([
    ['consumer', 20_000],
    ['system', 20_000],
    ['unchecked/consumer', 8_200],
    ['unchecked/system', 8_200],
  ])('%s: a page with one call, bundled with esbuild, takes at most its limit', async (entry, limit) => {
    const imports = `import { cookieSession, createClient, readOwnSession } from 'portico-client/${entry}'`
    const options = "{ baseUrl: '/', accessCode: 'x', session: cookieSession(), seal: 'none' }"
    await writeFile(join(folder, 'page.js'), `${imports}\nawait createClient(${options}).call(readOwnSession)`)
    const args = ['page.js', '--bundle', '--minify', '--format=esm', '--platform=browser']
    expect(gzipSync(execFileSync(toolPath('esbuild'), args, { cwd: folder })).length).toBeLessThanOrEqual(limit)
  })

  test('a JavaScript program makes signed-in calls', async () => {
    const imports = "import { createClient, isPorticoError } from 'portico-client'"
    await writeFile(
      join(folder, 'main.js'),
      program(imports, () => ''),
    )
    expect(await run('main.js')).toEqual(printed)
  })

  test('a TypeScript program compiles with the types of libraries checked, and makes signed-in calls', async () => {
    const imports = `import { createClient, isPorticoError, type Wallet } from 'portico-client'
    declare const process: { argv: string[] }`
    await writeFile(
      join(folder, 'typed.ts'),
      program(imports, (type) => `: ${type}`),
    )
    await compile('typed.ts')
    expect(await run('typed.js')).toEqual(printed)
  })

  test('portico client: the module of a gateway, and of its configuration, calls operations of other domains', async () => {
    const write = (...args: string[]) => runIn(gatewayFolder, ['npx', 'portico', 'client', ...args])
    const out = join(folder, 'portico.ts')
    const wrote = { code: 0, stdout: `wrote ${out} with 6 operations of cards, loans\n`, stderr: '' }
    expect(await write('--out', out, '--config', 'portico.yaml')).toEqual(wrote)
    const ofConfiguration = await readFile(out, 'utf8')
    expect(await write('--out', out, '--url', gateway.url)).toEqual(wrote)
    const ofGateway = await readFile(out, 'utf8')
    expect(ofGateway.replace(`${gateway.url}/`, 'portico.yaml')).toBe(ofConfiguration)
    await writeFile(join(folder, 'own.ts'), ownDomains)
    await compile('own.ts')
    expect(await run('own.js')).toEqual(['4242', 'BLOCKED', true, true, true])
  })
})
