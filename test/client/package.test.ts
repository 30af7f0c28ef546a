import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)
const tsc = join(root, 'node_modules/typescript/bin/tsc')

/** Bundles a script that uses the package in `folder`, as a page would load it. */
const bundleOf = async (folder: string, use: string): Promise<string> => {
  const input = join(folder, 'entry.js')
  await writeFile(input, use)
  await using bundle = await rolldown({ input, platform: 'browser' })
  const { output } = await bundle.generate({ minify: true })
  return output[0].code
}

describe('the exported client package', () => {
  let folder: string
  beforeAll(async () => {
    // The folder is inside the package, so that its imports resolve.
    folder = await mkdtemp(join(root, 'node_modules', '.portico-client-'))
    await run(process.execPath, [tsc, '-p', 'tsconfig.client.json', '--outDir', folder], { cwd: root })
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  it('is plain JavaScript with types, and runs in a Node without TypeScript', async () => {
    const packaged: { exports: Record<string, { types: string; default: string }> } = JSON.parse(
      await readFile(join(root, 'package.json'), 'utf8'),
    )
    const { types, default: entry } = packaged.exports['./client'] ?? { types: '', default: '' }
    expect(await readFile(join(folder, types.replace('./dist/', '')), 'utf8')).toContain('createClient')
    const url = pathToFileURL(join(folder, entry.replace('./dist/', ''))).href
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
    const packaged = await readFile(join(root, 'package.json'), 'utf8')
    await writeFile(join(folder, 'package.json'), packaged.replaceAll('./dist/', './'))
    const bundled = await bundleOf(
      folder,
      `import { isPorticoError } from 'portico/client'; console.log(isPorticoError(0))`,
    )
    expect(bundled.length).toBeLessThan(2_000)
    const calling = await bundleOf(folder, `import { createClient } from 'portico/client'; console.log(createClient)`)
    const disabledAt = calling.indexOf('jitless:!0')
    expect(disabledAt).toBeGreaterThan(0)
    expect(disabledAt).toBeLessThan(calling.indexOf('/transfer/command/create'))
  })

  it("has types that a browser project checks without Node's, also with TypeScript before 5.7", {
    timeout: 120_000,
  }, async () => {
    const use = `import { createClient } from './client/index.js'
      const client = createClient({ baseUrl: '/', portal: 'CONSUMER', accessCode: 'x' })
      export const names: Promise<string[]> = client.listWallets().then((all) => all.map(({ walletName }) => walletName))
      export const bytes: Promise<Blob> = client.downloadFile({ params: { file_id: 'x' } }).then((file) => file.blob())
      // @ts-expect-error: no such input
      export const wrong = client.createTransfer({ body: { amount: 1 } })`
    await writeFile(join(folder, 'use.ts'), use)
    const browser = {
      lib: ['DOM', 'ES2023'],
      types: [],
      target: 'es2023',
      module: 'preserve',
      strict: true,
      noEmit: true,
    }
    const compilerOptions = { ...browser, skipLibCheck: false }
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['use.ts'] }))
    const checked = await run(process.execPath, [tsc, '-p', folder, '--listFiles']).catch(
      ({ stdout }: { stdout: string }) => ({ stdout }),
    )
    const lines = checked.stdout.trim().split('\n')
    expect(lines.filter((line) => !isAbsolute(line))).toEqual([])
    // Before TypeScript 5.7, typed arrays had no type parameter for their buffer.
    const declared = lines.filter((line) => line.startsWith(folder) && line.endsWith('.d.ts'))
    expect(declared.length).toBeGreaterThan(10)
    const texts = await Promise.all(declared.map((file) => readFile(file, 'utf8')))
    expect(declared.filter((_, index) => texts[index]?.includes('Uint8Array<'))).toEqual([])
  })
})
