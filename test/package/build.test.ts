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
function node(...args: string[]) {
  return run(process.execPath, args, {
    cwd: copy,
    env: { ...process.env, NODE_OPTIONS: '', NODE_DISABLE_COMPILE_CACHE: '1' },
    maxBuffer: 64 << 20,
  })
}
function portico(...args: string[]) {
  return node('bin/portico.js', ...args)
}

function mark(folder: string) {
  return writeFileSync(join(copy, 'build', folder, 'cli.js'), "process.stdout.write('the build')")
}
function builds() {
  return readdirSync(join(copy, 'build'))
}

const tsconfigs = ['tsconfig.json', 'tsconfig.client.json', 'tsconfig.library.json']

beforeAll(() => {
  const files = ['LICENSE', 'package.json', 'package-lock.json', ...tsconfigs]
  for (const part of ['apps', 'assets', 'bin', 'config', 'docs', 'scripts', 'src', ...files])
    cpSync(join(root, part), join(copy, part), { recursive: true, preserveTimestamps: true })
})
afterAll(() => rmSync(copy, { recursive: true, force: true }))

describe('the build', () => {
  it('is skipped without an error if the bundler is not installed', async () => {
    expect((await node('scripts/build.ts')).stdout).toMatch(/^no build/)
  })

  it('prints the same OpenAPI document as the sources', async () => {
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
    cpSync(join(root, 'dist/apps'), join(copy, 'dist/apps'), { recursive: true })
    const { stdout: ofSources } = await portico('openapi')
    await node('scripts/build.ts')
    expect(builds()).toHaveLength(1)
    const { stdout: ofBuild } = await portico('openapi')
    expect(Object.keys(JSON.parse(ofBuild).paths).length).toBeGreaterThan(100)
    expect(ofBuild).toBe(ofSources)
  })

  it('keeps calls in a try block whose result is unused', () => {
    const folder = join(copy, 'build', builds()[0] ?? '')
    const programs = readdirSync(folder).filter((name) => name.endsWith('.js'))
    const withEmptyTry = programs.filter((name) =>
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
    expect(readdirSync(place).sort()).toEqual([
      'LICENSE',
      'assets',
      'bin',
      'build',
      'config',
      'dist',
      'docs',
      'package.json',
    ])
    expect((await node(join(place, 'bin/portico.js'), 'openapi')).stdout).toMatch(
      /"openapi": "3\.1\.1"[\s\S]*the quote has expired/,
    )
    const client = "import { createClient } from 'portico/client'; console.log(typeof createClient)"
    writeFileSync(join(copy, 'elsewhere/use.mjs'), client)
    expect((await node('elsewhere/use.mjs')).stdout).toBe('function\n')
    expect(existsSync(join(place, 'dist/portico-client/client/index.d.ts'))).toBe(true)
  })

  it('runs without sources, as in an image', async () => {
    await node('scripts/build.ts', 'release')
    rmSync(join(copy, 'src'), { recursive: true })
    expect((await portico('config', 'check')).stdout).toMatch(/^profile: development$/m)
  })
})
