import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { startProcess } from '../harness/process.ts'
import { root } from '../harness/settings.ts'
import { seededDirectory } from '../harness/template.ts'

/*
 * Process 1 of a container ignores signals without a listener. A process with a listener ends with an exit code, not a
 * signal name.
 */
const folder = await mkdtemp(join(tmpdir(), 'portico-signals-'))
const silent = createServer().listen(0, '127.0.0.1')
await once(silent, 'listening')
afterAll(async () => {
  silent.close()
  await rm(folder, { recursive: true, force: true })
})

test.each([
  ['serve', 'SIGTERM', 143],
  ['serve', 'SIGINT', 130],
  ['migrate', 'SIGTERM', 143],
] as const)('%s while it connects to its database: %s ends it with exit code %i', async (command, signal, code) => {
  const { port } = silent.address() as AddressInfo
  const child = spawn(process.execPath, ['bin/portico.js', command], {
    cwd: root,
    env: { ...process.env, DATABASE_URL: `postgres://portico@127.0.0.1:${port}/portico`, NODE_OPTIONS: '' },
    stdio: 'ignore',
  })
  const ended = once(child, 'exit')
  const [socket] = await once(silent, 'connection')
  child.kill(signal)
  expect(await ended).toEqual([code, null])
  socket.destroy()
})

test('a signal that arrives just before a process waits for it is received', async () => {
  const script = join(folder, 'wait.ts')
  await writeFile(
    script,
    `import { exitOnSignals, nextSignal } from ${JSON.stringify(join(root, 'src/cli/signals.ts'))}
    exitOnSignals()
    process.kill(process.pid, 'SIGTERM')
    const lost = setTimeout(() => process.exit(1), 5_000)
    process.stdout.write(await nextSignal())
    clearTimeout(lost)
    process.exit(0)`,
  )
  const child = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  expect([await once(child, 'close'), output]).toEqual([[0, null], 'SIGTERM'])
})

test('serve: the first signal drains, a second one ends the process', async () => {
  const file = join(folder, 'portico.yaml')
  await writeFile(file, 'shutdown: { delayMs: 100000 }\n')
  const { directory, remove } = await seededDirectory()
  const gateway = await startProcess({ PORTICO_DATA_DIR: directory, PORTICO_CONFIG: file })
  const ended = once(gateway.child, 'exit')
  gateway.child.kill('SIGINT')
  await expect.poll(gateway.output).toContain('"draining"')
  gateway.child.kill('SIGTERM')
  expect(await ended).toEqual([143, null])
  await remove()
})
