import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { parseSync } from 'oxc-parser'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { methods } from '../../scripts/client/methods.ts'
import { buildClientPackage, clientFolder } from '../../scripts/client-package.ts'
import { root } from '../harness/settings.ts'
import { comparison, usage } from './package-types.ts'

const run = promisify(execFile)
const tsc = join(root, 'node_modules/typescript/bin/tsc')

async function bundleOf(folder: string, use: string, external: RegExp[] = []): Promise<string> {
  const input = join(folder, 'entry.js')
  await writeFile(input, use)
  await using bundle = await rolldown({ input, platform: 'browser', external })
  const { output } = await bundle.generate({ minify: true })
  return output[0].code
}

/** Returns the programs of pages, by a file name. Each can use the variables of its page. */
async function examplesIn(pages: readonly string[]): Promise<Record<string, string>> {
  const variables = `declare const email: string, password: string, baseUrl: string, apiKey: string
    declare const askForTheCode: (sent: object | null) => Promise<string>\n`
  const texts = await Promise.all(pages.map((page) => readFile(join(root, page), 'utf8')))
  const blocks = texts.flatMap((text) => [...text.matchAll(/^```ts\n(import .*?)^```$/gms)].map(([, code]) => code))
  return Object.fromEntries(blocks.map((code, index) => [`example-${index}`, `${variables}${code}`]))
}

describe('the package portico-client', () => {
  let folder: string
  beforeAll(async () => {
    // Imports resolve only inside the project.
    folder = await mkdtemp(join(root, 'node_modules', '.portico-client-'))
    buildClientPackage(folder)
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  it('is plain JavaScript with types, and runs in a Node without TypeScript', async () => {
    const packaged: { exports: Record<string, { types: string; default: string }> } = JSON.parse(
      await readFile(join(root, 'package.json'), 'utf8'),
    )
    const { types, default: entry } = packaged.exports['./client'] ?? { types: '', default: '' }
    expect(await readFile(join(folder, types.replace(clientFolder, '')), 'utf8')).toContain('createClient')
    const url = pathToFileURL(join(folder, entry.replace(clientFolder, ''))).href
    const script = `const { createClient } = await import(${JSON.stringify(url)})
      const client = createClient({ baseUrl: 'http://127.0.0.1:1', portal: 'CONSUMER', accessCode: 'x' })
      console.log(typeof client.createTransfer, (await client.listWallets().catch((error) => error)).code)`
    const { stdout } = await run(process.execPath, ['--no-strip-types', '--input-type=module', '-e', script])
    expect(stdout.trim()).toBe('function CLIENT.NETWORK')
  })

  it('can be imported in jsdom, which has few browser globals', async () => {
    const url = pathToFileURL(join(folder, 'client/index.js')).href
    const missing = ['AbortSignal', 'FormData', 'Headers', 'Response', 'TextDecoder', 'TextEncoder', 'crypto', 'fetch']
    const script = `for (const name of ${JSON.stringify(missing)}) Reflect.deleteProperty(globalThis, name)
      console.log(typeof (await import(${JSON.stringify(url)})).createClient)`
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script])
    expect(stdout.trim()).toBe('function')
  })

  it("is tree-shakable: an error check bundles no operation, and a client disables zod's compiler", async () => {
    const bundled = await bundleOf(
      folder,
      `import { isPorticoError } from 'portico-client'; console.log(isPorticoError(0))`,
    )
    expect(bundled.length).toBeLessThan(2_000)
    const calling = await bundleOf(folder, `import { createClient } from 'portico-client'; console.log(createClient)`)
    const disabledAt = calling.indexOf('jitless:!0')
    expect(disabledAt).toBeGreaterThan(0)
    expect(disabledAt).toBeLessThan(calling.indexOf('/transfer/command/create'))
  })

  it('has less than 15 kB without zod and the schemas of the contract, and less than 78 kB with them', async () => {
    const use = `import { createApiClient, createClient } from 'portico-client'; console.log(createClient, createApiClient)`
    const schemas = /(^|\/)contract(\/(resources|policies))?\.js$/
    const code = await bundleOf(folder, use, [/^zod$/, schemas])
    expect(code).not.toContain('/transfer/command/create')
    const bytes = gzipSync(code).length
    expect(bytes).toBeGreaterThan(4_000)
    expect(bytes).toBeLessThan(15_000)
    expect(gzipSync(await bundleOf(folder, use)).length).toBeLessThan(78_000)
  })

  it('verifies a webhook in less than 1.5 kB, without zod and the rest of the client', async () => {
    const use = `import { verifyWebhook } from 'portico-client/webhooks'; console.log(verifyWebhook)`
    const code = await bundleOf(folder, use)
    expect(gzipSync(code).length).toBeLessThan(1_500)
    for (const other of ['zod', '/transfer/command', 'Bearer']) expect(code).not.toContain(other)
    // Neither a browser nor an edge worker has these.
    expect(code).not.toMatch(/\b(require|process|Buffer)\b|node:/)
  })

  it('depends on zod and the library for passkeys only, and has the version of portico', async () => {
    const { dependencies, version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
    expect([Object.keys(dependencies), version]).toEqual([['@simplewebauthn/browser', 'zod'], manifest.version])
  })

  it('has a comment with summary and refusals for each method', async () => {
    const text = await readFile(join(folder, 'client/methods.d.ts'), 'utf8')
    const members = text.match(/^( {2}\/\*\*\n(?: {3}\*.*\n)+)? {2}readonly \w+: .*$/gm) ?? []
    expect(members).toHaveLength(Object.values(methods).flat().length)
    const incomplete = members.filter(
      (each) => !/\*\* *\n {3}\* [A-Z].*\.\n.*`(GET|POST) \/.*(Refusals: |Also )/s.test(each),
    )
    expect(incomplete).toEqual([])
    expect(members.find((each) => each.includes('readonly createTransfer:'))).toMatch(
      /\* - `WALLET\.INSUFFICIENT_FUNDS` \(422\): [A-Z]/,
    )
  })

  it('exports every type under one name', async () => {
    const namesIn = async (file: string) => {
      const { module } = parseSync(file, await readFile(join(folder, 'client', file), 'utf8'))
      return module.staticExports.flatMap(({ entries }) => entries.flatMap(({ exportName }) => exportName.name ?? []))
    }
    const [generated, others] = await Promise.all(['methods.d.ts', 'index.d.ts'].map(namesIn))
    expect(generated).toEqual(expect.arrayContaining(['Wallet', 'Transfer', 'Exchange', 'CreateTransferRequest']))
    expect(others).toContain('createClient')
    expect(generated?.filter((name) => others?.includes(name))).toEqual([])
    expect(new Set(generated).size).toBe(generated?.length)
  })

  it("has types that a browser project checks without Node's, also with TypeScript before 5.7", {
    timeout: 120_000,
  }, async () => {
    const programs = {
      usage,
      comparison,
      ...(await examplesIn([
        'src/client/README.md',
        'docs/guides/passkeys-in-the-browser.md',
        'docs/guides/client-size.md',
        'docs/guides/follow-events.md',
        'docs/guides/front-end.md',
        'docs/guides/lists.md',
      ])),
    }
    for (const [name, text] of Object.entries(programs)) await writeFile(join(folder, `${name}.ts`), text)
    const browser = {
      lib: ['DOM', 'ES2023'],
      types: [],
      target: 'es2023',
      module: 'preserve',
      strict: true,
      noEmit: true,
    }
    const compilerOptions = { ...browser, skipLibCheck: false }
    const files = Object.keys(programs).map((name) => `${name}.ts`)
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
    const checked = await run(process.execPath, [tsc, '-p', folder, '--listFiles']).catch(
      ({ stdout }: { stdout: string }) => ({ stdout }),
    )
    const lines = checked.stdout.trim().split('\n')
    expect(lines.filter((line) => !isAbsolute(line))).toEqual([])
    // Before TypeScript 5.7, typed arrays had no type parameter.
    const declared = lines.filter((line) => line.startsWith(folder) && line.endsWith('.d.ts'))
    expect(declared.length).toBeGreaterThan(10)
    const texts = await Promise.all(declared.map((file) => readFile(file, 'utf8')))
    expect(declared.filter((_, index) => texts[index]?.includes('Uint8Array<'))).toEqual([])
  })
})
