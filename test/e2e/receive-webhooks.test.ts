import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needs, needsStore } from '../harness/needs.ts'
import { startMoneyWorld } from './money-world.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const guide = readFileSync(join(root, 'docs/guides/receive-webhooks.md'), 'utf8')
const folder = mkdtempSync(join(tmpdir(), 'portico-receivers-'))
const python = installPython()

/** Returns undefined without Python or without its package registry. */
function installPython(): string | undefined {
  const program = join(folder, 'python/bin/python')
  try {
    execFileSync('python3', ['-m', 'venv', join(folder, 'python')], { stdio: 'ignore' })
    const install = [
      '-m',
      'pip',
      'install',
      '--quiet',
      '--no-input',
      '--retries=0',
      '--timeout=10',
      'standardwebhooks==1.1.0',
    ]
    execFileSync(program, install, { stdio: 'ignore', timeout: 60_000 })
    return program
  } catch {
    return undefined
  }
}

function blockOf(language: string): string {
  const [, code] = new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``).exec(guide) ?? []
  if (code === undefined) throw new Error(`the guide has no block of ${language}`)
  return code
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address ? address.port : 0
}

describe('docs/guides/receive-webhooks.md', needsStore('embedded'), () => {
  let world: Awaited<ReturnType<typeof startMoneyWorld>>
  const receivers: ChildProcess[] = []
  beforeAll(async () => {
    world = await startMoneyWorld()
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
    writeFileSync(join(folder, 'receiver.mjs'), blockOf('js'))
    writeFileSync(join(folder, 'receiver.py'), blockOf('python'))
  })
  afterAll(async () => {
    for (const receiver of receivers) receiver.kill()
    await world?.portico.stop()
    rmSync(folder, { recursive: true })
  })

  /** The receiver starts after the webhook exists, because it needs the secret. */
  const receive = async (program: string, file: string): Promise<void> => {
    const port = await freePort()
    const body = { url: `http://127.0.0.1:${port}/webhooks`, eventTypes: ['transfer.completed'] }
    const { bizId: webhookBizId, secret } = await world.data(world.web('POST', '/webhooks', body))
    const env = { ...process.env, WEBHOOK_SECRET: secret, PORT: String(port) }
    const receiver = spawn(program, [join(folder, file)], { env, stdio: ['ignore', 'pipe', 'inherit'] })
    receivers.push(receiver)
    let output = ''
    receiver.stdout.on('data', (chunk) => {
      output += chunk
    })
    const post = (id: string) =>
      fetch(body.url, { method: 'POST', body: '{}', headers: { 'webhook-id': id, 'webhook-signature': 'v1,AAAA' } })
    const forged = () =>
      post('forged').then(
        ({ status }) => status,
        () => 0,
      )
    await expect.poll(forged, { timeout: 15_000 }).toBe(400)
    const { bizId } = await world.data(world.web('POST', '/webhooks/test', { webhookBizId }))
    await expect.poll(() => output, { timeout: 20_000 }).toBe(`webhook.test ${webhookBizId}\n`)
    await world.data(world.web('POST', '/webhooks/resend', { deliveryBizId: bizId }))
    const delivered = async () =>
      (await world.data(world.web('GET', `/webhooks/${webhookBizId}/deliveries?deliveryStatus=DELIVERED`))).items.length
    await expect.poll(delivered, { timeout: 20_000 }).toBe(1)
    // The second attempt has the same id.
    expect(output).toBe(`webhook.test ${webhookBizId}\n`)
  }

  test('the receiver in JavaScript verifies events and processes each once', () =>
    receive(process.execPath, 'receiver.mjs'))

  test(
    'the receiver in Python verifies events and processes each once',
    needs(python, 'Python or its package standardwebhooks cannot be installed'),
    () => receive(String(python), 'receiver.py'),
  )
})
