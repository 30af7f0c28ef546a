import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { send } from '../harness/http.ts'
import { needs } from '../harness/needs.ts'
import { freePort } from '../harness/postgres.ts'
import { type PorticoProcess, startProcess } from '../harness/process.ts'
import { root } from '../harness/settings.ts'
import { seededDirectory } from '../harness/template.ts'

let store: Awaited<ReturnType<typeof seededDirectory>>
beforeAll(async () => {
  store = await seededDirectory()
})
afterAll(() => store?.remove())

function linesOf(text: string): string[] {
  return text.split(/\r?\n/).filter((line) => line !== '')
}

// `script` provides a pseudo-terminal, which turns Ctrl-C into a signal.
test('serve on a terminal: one readable line per event, in color', {
  ...needs(existsSync('/usr/bin/script'), 'script(1) is not installed'),
  timeout: 240_000,
}, async () => {
  // Node prints no color if CI is set.
  const { NO_COLOR: _, FORCE_COLOR: _forced, CI: _ci, ...env } = process.env
  const variables = { PORTICO_DATA_DIR: store.directory, PORT: String(await freePort()), OPS_PORT: '0' }
  const command = ['-qec', `${process.execPath} bin/portico.js serve`, '/dev/null']
  const own = { ...variables, TERM: 'xterm-256color', NODE_OPTIONS: '' }
  const terminal = spawn('/usr/bin/script', command, { cwd: root, env: { ...env, ...own } })
  let shown = ''
  terminal.stdout.on('data', (chunk: Buffer) => {
    shown += chunk.toString()
  })
  try {
    await expect.poll(() => shown, { timeout: 200_000 }).toMatch(/^(?=.*listening).*Password/s)
  } finally {
    terminal.stdin.write('\u0003')
    await once(terminal, 'exit')
  }
  expect(linesOf(shown).find((line) => line.includes('listening'))).toContain('\u001b[32mINFO \u001b[39m')
  expect(shown).toContain('draining')
  expect(linesOf(shown).filter((line) => line.startsWith('{'))).toEqual([])
})

describe('serve into a pipe', () => {
  let gateway: PorticoProcess
  beforeAll(async () => {
    gateway = await startProcess({ PORTICO_DATA_DIR: store.directory })
  })
  afterAll(() => gateway?.stop())

  test('links in mails follow PORT', async () => {
    const reset = { body: { email: 'owner@demo.test', turnstileToken: '' } }
    expect((await send(gateway.url, 'POST', '/web/v1/consumer/auth/password/forgot', reset)).status).toBe(200)
    const mails = async () => (await fetch(`${gateway.operationsUrl}/mail.json`)).text()
    await expect.poll(mails).toContain(`${gateway.url}/`)
  })

  test('JSON lines; `listening` names the store, Redis, the mail server and the place of each domain', async () => {
    await gateway.stop()
    const lines = linesOf(gateway.output())
    const log = lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line))
    expect(log.find(({ msg }) => msg === 'listening')).toMatchObject({
      store: `embedded ${store.directory}`,
      redis: 'none',
      mail: 'development outbox',
      domains: { default: 'in-process' },
    })
    expect(lines.filter((line) => !line.startsWith('{')).map((line) => line.trim().split(' ')[0])).toEqual([
      ...['Portal', 'Console', 'Portico', 'Docs', 'Mail', 'Accounts', 'Password', 'Store'],
    ])
  })
})
