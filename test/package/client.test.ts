import { execFileSync } from 'node:child_process'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import type { PorticoProcess } from '../harness/process.ts'
import { root } from '../harness/settings.ts'
import { userEnvironment } from './environment.ts'
import { folderIn, runIn, startIn } from './user.ts'

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

describe('portico-client in an empty folder', () => {
  let folder: string
  let gateway: PorticoProcess
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'portico-front-end-'))
    await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }))
    const args = ['install', inject('package').client, '--prefer-offline', '--no-audit', '--no-fund', '--silent']
    execFileSync('npm', args, { cwd: folder, env: userEnvironment(), stdio: ['ignore', 'ignore', 'inherit'] })
    gateway = await startIn(await folderIn('production'), ['npx', 'portico', 'serve'])
  })
  afterAll(async () => {
    await gateway?.stop()
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
  const printed = [expect.arrayContaining(['Main USD', 'Savings USD']), 'USD', true]

  test('installs zod and no other package', async () => {
    const installed = await readdir(join(folder, 'node_modules'))
    expect(installed.filter((name) => !name.startsWith('.')).sort()).toEqual(['portico-client', 'zod'])
    const files = await readdir(join(folder, 'node_modules/portico-client'))
    expect(files).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'client', 'package.json']))
    expect(files).not.toContain('api')
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
    const compilerOptions = { lib: ['DOM', 'ES2023'], types: [], target: 'es2023', module: 'nodenext', strict: true }
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['typed.ts'] }))
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    const compiled = await runIn(folder, ['node', tsc, '-p', '.', '--skipLibCheck', 'false'])
    expect(compiled).toEqual({ code: 0, stdout: '', stderr: '' })
    expect(await run('typed.js')).toEqual(printed)
  })
})
