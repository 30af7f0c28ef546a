import { execFile } from 'node:child_process'
import { cp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { toolPath } from '../../scripts/tool.ts'
import { developmentIds } from '../../src/seed/development.ts'
import { type Answer, send } from '../harness/http.ts'
import type { PorticoProcess } from '../harness/process.ts'
import { signInAt } from '../harness/sign-in.ts'
import { writeDomain } from './domain.ts'
import { copyExample, folderIn, runIn, startIn } from './user.ts'

describe('a project in plain JavaScript', () => {
  let gateway: PorticoProcess
  let token: string
  const read = (name: string, refuse: 'yes' | 'no'): Promise<Answer> =>
    send(gateway.url, 'GET', `/web/v1/consumer/${name}?refuse=${refuse}`, {
      token,
      workspace: developmentIds.workspace,
    })

  beforeAll(async () => {
    const folder = await folderIn('production')
    await writeDomain(folder, 'apples')
    // A domain from npm can bring a second copy of the package.
    const { production } = inject('package')
    await cp(join(production, 'node_modules/portico'), join(folder, 'node_modules/copy'), { recursive: true })
    await writeDomain(folder, 'pears', 'copy')
    await writeFile(
      join(folder, 'main.js'),
      `import { bankingDomains, portico } from 'portico'
      import apples from './apples.js'
      import pears from './pears.js'
      await portico({ domains: [...bankingDomains, apples, pears] }).serve()`,
    )
    gateway = await startIn(folder, ['node', '--no-strip-types', 'main.js'])
    token = (await signInAt(gateway)).accessToken
  })
  afterAll(() => gateway?.stop())

  test('serves its domain: 200, and 409 for a refusal', async () => {
    const replied = await read('apples', 'no')
    expect([replied.status, replied.body.data]).toEqual([200, ['apples']])
    const refused = await read('apples', 'yes')
    expect([refused.status, refused.body.code]).toEqual([409, 'STATE.CONFLICT'])
  })

  test('serves a domain that uses another copy of the package: refusals and schemas work', async () => {
    const replied = await read('pears', 'no')
    expect([replied.status, replied.body.data]).toEqual([200, ['pears']])
    const refused = await read('pears', 'yes')
    expect([refused.status, refused.body.code]).toEqual([409, 'STATE.CONFLICT'])
  })

  test('ends with code 0 after SIGTERM', async () => {
    expect(await gateway.stop()).toBe(0)
  })
})

test('a broken domain in plain JavaScript is reported with its field and without a stack: exit code 2', async () => {
  const folder = await folderIn('production')
  await writeFile(
    join(folder, 'broken.js'),
    `import { domain, portico } from 'portico'
    const broken = domain({ name: 'broken', summary: 'Broken', operations: { list: { id: 'x' } }, create: () => ({}) })
    await portico({ domains: [broken] }).serve([])`,
  )
  const failed = await runIn(folder, ['node', 'broken.js'])
  expect(failed.code).toBe(2)
  expect(failed.stderr).toMatch(/^portico: the configuration has \d+ error\(s\):\n( {2}- .+\n)+$/)
  expect(failed.stderr).toContain('domains[0] of portico(): operations.list.policy')
})

test('a program in plain JavaScript prints the options of serve: exit code 0', async () => {
  const folder = await folderIn('production')
  await writeFile(join(folder, 'main.js'), "import { portico } from 'portico'\nawait portico().serve()")
  const help = await runIn(folder, ['node', 'main.js', '--help'])
  expect(help).toEqual({ code: 0, stdout: expect.stringContaining('--role gateway|domains'), stderr: '' })
})

test('a gateway in another program prints its document, closes and leaves the program running', async () => {
  const folder = await folderIn('production')
  await writeFile(
    join(folder, 'embed.js'),
    `import { portico } from 'portico'
    const gateway = portico()
    const { port, operationsPort } = await gateway.serve([])
    const ready = await fetch(\`http://127.0.0.1:\${operationsPort}/health/ready\`)
    const { paths } = await gateway.openapi()
    await gateway.close()
    const closed = await fetch(\`http://127.0.0.1:\${port}/\`).catch(() => 'closed')
    console.log(JSON.stringify([ready.status, '/web/v1/consumer/wallets' in paths, closed]))`,
  )
  const variables = { PORT: '0', OPS_PORT: '0', LOG_LEVEL: 'silent', PORTICO_CONFIG: 'portico.yaml' }
  await writeFile(join(folder, 'portico.yaml'), 'shutdown: { delayMs: 0 }\n')
  const { stdout, stderr } = await runIn(folder, ['node', 'embed.js'], variables)
  expect(JSON.parse(stdout.trim().split('\n').at(-1) ?? ''), stderr).toEqual([200, true, 'closed'])
})

test('a front end bundles the contract of a domain for browsers, without modules of Node and with one zod', async () => {
  const folder = await folderIn('production')
  await copyExample('loans', folder)
  const input = join(folder, 'page.js')
  await writeFile(
    input,
    `import { createClient } from 'portico/client'
    import * as loans from './examples/loans/contract.ts'
    const client = createClient({ portal: 'CONSUMER', baseUrl: 'http://127.0.0.1:1', accessCode: 'x', contract: [loans] })
    console.log(typeof client.applyForLoan, (await client.listLoans({ workspaceId: 'x' }).catch((error) => error)).code)`,
  )
  await using bundle = await rolldown({ input, platform: 'browser' })
  const { output } = await bundle.write({ file: join(folder, 'page.bundled.js'), minify: true, codeSplitting: false })
  expect(output[0].imports).toEqual([])
  expect(output[0].moduleIds.filter((id) => /zod\/.*\/core\/schemas\.js$/.test(id))).toHaveLength(1)
  const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'page.bundled.js')])
  expect(stdout.trim()).toBe('function CLIENT.NETWORK')
})

const minified: Record<string, (input: string) => Promise<string>> = {
  rolldown: async (input) => {
    await using bundle = await rolldown({ input, platform: 'browser' })
    return (await bundle.generate({ minify: true })).output[0].code
  },
  esbuild: async (input) => {
    const options = ['--bundle', '--minify', '--format=esm', '--platform=browser']
    return (await promisify(execFile)(toolPath('esbuild'), [input, ...options], { maxBuffer: 2 ** 23 })).stdout
  },
}

test.each(Object.entries(minified))(
  '%s: an own contract adds at most 10 kB after gzip to a page',
  async (_, bundle) => {
    const folder = await folderIn('production')
    await copyExample('loans', folder)
    const sizeWith = async (name: string, imports: string, contract: string) => {
      const input = join(folder, name)
      const options = `{ portal: 'CONSUMER', baseUrl: '/', accessCode: 'x', contract: [${contract}] }`
      await writeFile(input, `import { createClient } from 'portico/client'\n${imports}\ncreateClient(${options})`)
      return gzipSync(await bundle(input)).length
    }
    const alone = await sizeWith('alone.js', '', '')
    const withContract = await sizeWith('own.js', "import * as loans from './examples/loans/contract.ts'", 'loans')
    expect(withContract - alone).toBeLessThanOrEqual(10_000)
    expect(alone).toBeGreaterThan(40_000)
  },
)
