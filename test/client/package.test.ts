import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)

describe('the client as the package exports it', () => {
  let folder: string
  beforeAll(async () => {
    // Inside the package, so that its imports find the package's dependencies.
    folder = await mkdtemp(join(root, 'node_modules', '.portico-client-'))
    await run(
      process.execPath,
      [join(root, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.client.json', '--outDir', folder],
      { cwd: root },
    )
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  it('is plain JavaScript with its types, and runs in a Node that has no TypeScript', async () => {
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
})
