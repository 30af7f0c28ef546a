import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startCommand } from '../harness/process.ts'
import { root } from '../harness/settings.ts'
import { seededDirectory } from '../harness/template.ts'

const library = pathToFileURL(join(root, 'src/portico.ts')).href

/** With the cache of bin/portico.js, because a program that compiles all sources takes twice as long. */
const env = { ...process.env, NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/portico'), NODE_OPTIONS: '' }

/** Serves a domain that lacks all but the id of its operation. */
const broken = `const broken = domain({ name: 'broken', summary: 'Broken', operations: { list: { id: 'x' } }, create: () => ({}) })
  const gateway = portico({ domains: [...bankingDomains, broken] })`

describe('a program with top-level await that calls portico()', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'portico-library-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  const program = async (text: string): Promise<string> => {
    const file = join(folder, `${crypto.randomUUID()}.ts`)
    await writeFile(file, `import { bankingDomains, domain, portico } from '${library}'\n${text}`)
    return file
  }
  const run = (args: readonly string[], variables: NodeJS.ProcessEnv = {}) =>
    new Promise<{ code: unknown; out: string; err: string }>((resolve) => {
      const all = { ...env, PORTICO_DATA_DIR: join(folder, 'data'), ...variables }
      execFile(process.execPath, args, { cwd: root, env: all, maxBuffer: 64 << 20 }, (error, out, err) =>
        resolve({ code: error?.code ?? 0, out, err }),
      )
    })
  const serving = 'await portico({ domains: bankingDomains }).serve()'

  test('a broken domain: its errors without a stack, exit code 2', async () => {
    for (const call of ['await gateway.serve()', 'await gateway.openapi()', 'void gateway.serve()']) {
      const { code, out, err } = await run([await program(`${broken}\n${call}`)])
      expect([code, out], call).toEqual([2, ''])
      expect(err, call).toMatch(/^portico: the configuration has \d+ error\(s\):\n( {2}- .+\n)+$/)
      expect(err, call).toContain('domains[21] of portico(): operations.list.policy: ')
    }
  })

  test('an invalid configuration: the messages and the exit code of portico serve', async () => {
    const invalid = { PORT: 'eighty' }
    const command = await run(['bin/portico.js', 'serve'], invalid)
    expect(await run([await program(serving)], invalid)).toEqual(command)
    expect([command.code, command.err]).toEqual([2, expect.stringContaining('PORT')])
  })

  test('a program that catches the error continues: exit code 0', async () => {
    const file = await program(`${broken}
      const error = await gateway.serve().catch((error: unknown) => error)
      console.log(error instanceof Error && error.name)`)
    expect(await run([file])).toEqual({ code: 0, out: 'ConfigurationError\n', err: '' })
  })

  test('a program with its own listener for uncaught errors gets the error', async () => {
    const file = await program(`${broken}
      process.on('uncaughtException', ({ name }) => { console.log(name); process.exit(7) })
      await gateway.serve()`)
    expect(await run([file])).toEqual({ code: 7, out: 'ConfigurationError\n', err: '' })
  })

  test('--help prints the options of portico serve and starts nothing: exit code 0', async () => {
    const file = await program(serving)
    const help = await run(['bin/portico.js', 'serve', '--help'])
    expect(help).toMatchObject({ code: 0, out: expect.stringContaining('--role gateway|domains'), err: '' })
    for (const option of ['--help', '-h']) expect(await run([file, option])).toEqual(help)
  })

  test.each([
    ['an unknown option', ['--loudly'], '--loudly'],
    ['a command', ['migrate'], 'migrate'],
    ['an unknown role', ['--role', 'king'], "--role must be gateway or domains, not 'king'"],
  ])('%s: one line, exit code 2', async (_, args, message) => {
    const { code, out, err } = await run([await program(serving), ...args])
    expect([code, out]).toEqual([2, ''])
    expect(err).toMatch(/^portico: .+\n$/)
    expect(err).toContain(message)
  })

  test('--role domains serves the domains without the gateway', async () => {
    const store = await seededDirectory()
    const started = await startCommand([process.execPath, await program(serving), '--role', 'domains'], {
      PORTICO_DATA_DIR: store.directory,
    })
    await expect.poll(started.output).toContain('"role":"domains"')
    expect((await fetch(`${started.url}/web/v1/consumer/auth/login`, { method: 'POST' })).status).toBe(404)
    expect(await started.stop()).toBe(0)
    await store.remove()
  })

  test('openapi returns the document that portico openapi prints, with the examples of the profile', async () => {
    const file = await program(`console.log(JSON.stringify(await portico().openapi()))`)
    const [returned, printed] = [await run([file]), await run(['bin/portico.js', 'openapi'])]
    expect(JSON.parse(returned.out)).toEqual(JSON.parse(printed.out))
  })
})
