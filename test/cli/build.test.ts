import { execFile } from 'node:child_process'
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { root } from '../harness/settings.ts'

const run = promisify(execFile)
const copy = mkdtempSync(join(tmpdir(), 'portico-build-'))
const node = (...args: string[]) =>
  run(process.execPath, args, {
    cwd: copy,
    env: { ...process.env, NODE_OPTIONS: '', NODE_DISABLE_COMPILE_CACHE: '1' },
    maxBuffer: 64 << 20,
  })
const portico = (...args: string[]) => node('bin/portico.js', ...args)

/** Replaces the build's program by one that prints a marker. */
const mark = (folder: string) =>
  writeFileSync(join(copy, 'build', folder, 'cli.js'), "process.stdout.write('the build')")
const builds = () => readdirSync(join(copy, 'build'))

const tsconfigs = ['tsconfig.json', 'tsconfig.client.json', 'tsconfig.library.json']

beforeAll(() => {
  for (const part of ['bin', 'config', 'docs', 'package.json', 'package-lock.json', 'scripts', 'src', ...tsconfigs])
    cpSync(join(root, part), join(copy, part), { recursive: true, preserveTimestamps: true })
})
afterAll(() => rmSync(copy, { recursive: true, force: true }))

describe('the build', () => {
  it('is skipped without an error if the bundler is not installed', async () => {
    expect((await node('scripts/build.ts')).stdout).toMatch(/^no build/)
  })

  it('prints the same OpenAPI document as the sources', async () => {
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
    const { stdout: ofSources } = await portico('openapi')
    await node('scripts/build.ts')
    expect(builds()).toHaveLength(1)
    const { stdout: ofBuild } = await portico('openapi')
    expect(Object.keys(JSON.parse(ofBuild).paths).length).toBeGreaterThan(100)
    expect(ofBuild).toBe(ofSources)
  })

  it('keeps calls in a try block whose result is unused', () => {
    const folder = join(copy, 'build', builds()[0] ?? '')
    const withEmptyTry = readdirSync(folder).filter((name) =>
      /\btry \{\s*(return (true|false|null|void 0);\s*)?\}/.test(readFileSync(join(folder, name), 'utf8')),
    )
    expect(withEmptyTry).toEqual([])
  })

  it('runs instead of unchanged sources, and is not made again', async () => {
    mark(builds()[0] ?? '')
    expect((await portico('openapi')).stdout).toBe('the build')
    await node('scripts/build.ts')
    expect((await portico('openapi')).stdout).toBe('the build')
  })

  it('is ignored after a source has changed, until it is made again', async () => {
    const before = builds()
    appendFileSync(join(copy, 'src/cli.ts'), "\nstdout.write('the changed sources')\n")
    expect((await portico('config', 'check')).stdout).toMatch(/the changed sources$/)
    await node('scripts/build.ts')
    expect(builds()).toHaveLength(1)
    expect(builds()).not.toEqual(before)
    expect((await portico('config', 'check')).stdout).toMatch(/the changed sources$/)
    mark(builds()[0] ?? '')
    expect((await portico('config', 'check')).stdout).toBe('the build')
  })

  it('is ignored after a source was removed or the lock file has changed', async () => {
    renameSync(join(copy, 'src/compose/jobs.ts'), join(copy, 'jobs.ts'))
    await expect(portico('serve')).rejects.toThrow(/jobs\.ts/)
    renameSync(join(copy, 'jobs.ts'), join(copy, 'src/compose/jobs.ts'))
    expect((await portico('config', 'check')).stdout).toBe('the build')
    appendFileSync(join(copy, 'package-lock.json'), '\n')
    expect((await portico('config', 'check')).stdout).toMatch(/the changed sources$/)
  })

  it('is in the npm package, with the client and its types, and without sources', {
    timeout: 300_000,
  }, async () => {
    await run('npm', ['pack', '--silent'], { cwd: copy })
    expect([builds().length, builds().includes('release')]).toEqual([2, true])
    const place = join(copy, 'elsewhere/node_modules/portico')
    mkdirSync(place, { recursive: true })
    await run('tar', ['-xzf', 'portico-0.1.0.tgz', '-C', place, '--strip-components=1'], { cwd: copy })
    expect(readdirSync(place).sort()).toEqual(['bin', 'build', 'config', 'dist', 'docs', 'package.json'])
    expect((await node(join(place, 'bin/portico.js'), 'openapi')).stdout).toContain('"openapi": "3.1.1"')
    const client = "import { createClient } from 'portico/client'; console.log(typeof createClient)"
    writeFileSync(join(copy, 'elsewhere/use.mjs'), client)
    expect((await node('elsewhere/use.mjs')).stdout).toBe('function\n')
    expect(existsSync(join(place, 'dist/client/index.d.ts'))).toBe(true)
  })

  describe('the library of the npm package', () => {
    const project = join(copy, 'elsewhere/loans')
    const tsc = () =>
      run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc')], { cwd: project }).then(
        () => '',
        ({ stdout }: { stdout: string }) => stdout,
      )
    /** Returns the compiler's output after a change of the example. */
    const compileChanged = async (file: string, from: string, to: string): Promise<string> => {
      const path = join(project, file)
      const text = readFileSync(path, 'utf8')
      expect(text).toContain(from)
      writeFileSync(path, text.replace(from, to))
      return tsc().finally(() => writeFileSync(path, text))
    }
    beforeAll(() => cpSync(join(root, 'examples/loans'), project, { recursive: true }))

    it('has types for a TypeScript project', { timeout: 60_000 }, async () => {
      expect(await tsc()).toBe('')
    })

    it.each([
      [
        'a reply of another type',
        'index.ts',
        'currency: loan.currency,\n      loanStatus',
        'currency: 1,\n      loanStatus',
      ],
      ['a missing handler', 'index.ts', 'listLoans: async', 'listAll: async'],
      ['an unknown code', 'index.ts', "new Refusal('STATE.CONFLICT')", "new Refusal('LOAN.UNKNOWN')"],
      ['an undeclared code', 'contract.ts', "refuses: ['LOAN.NOT_ELIGIBLE']", "refuses: ['LOAN.UNKNOWN']"],
      [
        'a missing field of the policy',
        'contract.ts',
        "{ ...decision, permission: 'loan:approve' }",
        "{ caller: 'account' }",
      ],
      ['a wrong argument of the client', 'apply.ts', "amount: '250.00'", 'amount: 250'],
      ['an unknown setting', 'index.ts', 'settings.maxAmount, body', 'settings.minAmount, body'],
    ])('makes %s a compile error', { timeout: 60_000 }, async (_, file, from, to) => {
      expect(await compileChanged(file, from, to)).toMatch(/error TS/)
    })

    it('serves a domain, prints its document and closes', { timeout: 60_000 }, async () => {
      writeFileSync(
        join(project, 'use.ts'),
        `import { bankingDomains, portico } from 'portico'
        import { createApiClient } from 'portico/client'
        import * as contract from './contract.ts'
        import loans from './index.ts'
        const gateway = portico({ domains: [...bankingDomains, loans] })
        const { port, operationsPort } = await gateway.serve([])
        const own = await fetch(\`http://127.0.0.1:\${port}/web/v1/consumer/loans\`)
        const client = createApiClient({ baseUrl: \`http://127.0.0.1:\${port}\`, apiKey: 'none', contract: [contract] })
        const refused = await client.listLoans().catch(({ code }) => code)
        const ready = await fetch(\`http://127.0.0.1:\${operationsPort}/health/ready\`)
        const { paths } = await gateway.openapi() as { paths: object }
        await gateway.close()
        const closed = await fetch(\`http://127.0.0.1:\${port}/\`).catch(() => 'closed')
        console.log(JSON.stringify([own.status, refused, ready.status, '/web/v1/consumer/loans' in paths, closed]))`,
      )
      const env = {
        ...process.env,
        NODE_OPTIONS: '',
        PORTICO_CONFIG: 'library.yaml',
        PORTICO_DATA_DIR: join(project, 'data'),
        PORT: '0',
        OPS_PORT: '0',
        LOG_LEVEL: 'silent',
      }
      writeFileSync(
        join(project, 'library.yaml'),
        "shutdown: { delayMs: 0 }\ndomains: { loans: { maxAmount: '5000.00' } }\n",
      )
      const { stdout } = await run(process.execPath, ['use.ts'], { cwd: project, env })
      expect(JSON.parse(stdout.trim().split('\n').at(-1) ?? '')).toEqual([
        403,
        'ACCESS.TOKEN_INVALID',
        200,
        true,
        'closed',
      ])
    })

    it('has a testing kit, with which the tests of the example pass', { timeout: 120_000 }, async () => {
      const vitest = join(copy, 'node_modules/vitest/vitest.mjs')
      const report = join(project, 'report.json')
      await run(process.execPath, [vitest, 'run', '--root', project, '--reporter', 'json', '--outputFile', report], {
        cwd: project,
        env: { ...process.env, NODE_OPTIONS: '', VITEST: '' },
        maxBuffer: 64 << 20,
      })
      const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(report, 'utf8'))
      expect([numPassedTests > 15, numFailedTests]).toEqual([true, 0])
    })

    it('runs in plain JavaScript, and reports a broken domain with its place', { timeout: 60_000 }, async () => {
      writeFileSync(
        join(project, 'broken.mjs'),
        `import { domain, portico } from 'portico'
        const broken = domain({ name: 'broken', summary: 'Broken', operations: { list: { id: 'x' } }, create: () => ({}) })
        await portico({ domains: [broken] }).serve([])`,
      )
      const failed = await run(process.execPath, ['broken.mjs'], { cwd: project }).catch((error) => error)
      expect(failed.code).toBe(1)
      expect(failed.stderr).toContain('domains[0] of portico(): operations.list.policy')
    })
  })

  it('runs without sources, as in an image', async () => {
    await node('scripts/build.ts', 'release')
    rmSync(join(copy, 'src'), { recursive: true })
    expect((await portico('config', 'check')).stdout).toMatch(/^profile: development$/m)
  })
})
