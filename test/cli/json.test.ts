import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { commands as loaders } from '../../src/cli/index.ts'
import { packageVersion } from '../../src/config/env.ts'
import { runCli } from '../harness/cli.ts'
import { root } from '../harness/settings.ts'

const commands = await Promise.all(Object.values(loaders).map((load) => load()))
const printing = commands.filter(({ isServer }) => !isServer).map(({ name }) => name)

/** One JSON document on standard output, and nothing else there. */
async function json(args: readonly string[], variables = {}) {
  const { code, out, err } = await runCli([...args, '--json'], {}, variables)
  return { code, err, document: JSON.parse(out) }
}

describe('--json', () => {
  test('serve is the only command without it: exit code 2', async () => {
    expect(commands.filter(({ isServer }) => isServer).map(({ name }) => name)).toEqual(['serve'])
    expect((await json(['serve'])).document.error).toMatchObject({ exitCode: 2 })
  })

  test.each(printing)('%s: an error is a document with the exit code, and standard error is empty', async (name) => {
    const { code, err, document } = await json([...name.split(' '), '--operations-url', 'nowhere'], { PORT: 'nowhere' })
    expect(document).toEqual({ error: { message: expect.stringMatching(/./), exitCode: 2 } })
    expect([code, err]).toEqual([2, ''])
  })

  test.each(printing)('%s: help is a document', async (name) => {
    const { code, document } = await json([...name.split(' '), '--help'])
    expect([code, document]).toEqual([0, { help: expect.stringContaining(`portico ${name}: `) }])
  })

  test('help, version and an unknown command', async () => {
    expect((await json(['--version'])).document).toEqual({ version: packageVersion() })
    expect((await json(['help'])).document.help).toContain('account find')
    expect(await json(['frobnicate'])).toMatchObject({ code: 2, document: { error: { exitCode: 2 } } })
  })

  describe('results', () => {
    let folder: string
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'portico-json-'))
    })
    afterAll(() => rm(folder, { recursive: true, force: true }))

    // The compiler requires a result object for each text. These commands need neither a store nor a gateway.
    test('config check, openapi and init print what they print as text', async () => {
      expect((await json(['config', 'check'], { PORT: '8123' })).document).toMatchObject({
        listen: { port: 8123 },
        secretKeys: '[secret]',
        store: expect.stringMatching(/^embedded /),
      })
      expect((await json(['openapi'])).document).toMatchObject({ openapi: '3.1.1' })
      const file = join(folder, 'parcels.portico.yaml')
      const made = await json(['init', join(root, 'test/harness/parcels.yaml'), '--to', file, '--domain', 'shipped'])
      expect(made.document).toMatchObject({ file, domain: 'shipped', operations: expect.any(Array) })
    })
  })
})
