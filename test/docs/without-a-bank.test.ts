import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runProgram } from '../harness/cli.ts'
import { send } from '../harness/http.ts'
import { type PorticoProcess, startCommand } from '../harness/process.ts'
import { root } from '../harness/settings.ts'
import { signInAt } from '../harness/sign-in.ts'

const guide = 'docs/guides/without-a-bank.md'
const text = readFileSync(join(root, guide), 'utf8')
const files = [...text.matchAll(/^```(?:yaml|js)\n(?:#|\/\/) (\S+)\n(.*?)^```$/gms)]

describe(guide, () => {
  let folder: string
  let gateway: PorticoProcess
  let variables: Record<string, string>
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'portico-no-bank-'))
    for (const [, file = '', code = ''] of files) await writeFile(join(folder, file), code)
    variables = { PORTICO_CONFIG: 'portico.yaml', PORTICO_DATA_DIR: join(folder, 'data') }
    gateway = await startCommand([process.execPath, join(root, 'bin/portico.js'), 'serve'], variables, { cwd: folder })
  })
  afterAll(async () => {
    await gateway?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  test('config check prints the line of the guide', async () => {
    const { code, err } = await runProgram(['config', 'check'], {}, { variables, cwd: folder })
    expect([code, err]).toEqual([0, /^portico: extensions: .*$/m.exec(text)?.[0].concat('\n')])
  })

  test('notes.write 200: each account has its own note', async () => {
    const note = '/web/v1/consumer/note'
    for (const email of ['owner@demo.test', 'member@demo.test']) {
      const { accessToken: token } = await signInAt(gateway, email)
      expect((await send(gateway.url, 'GET', note, { token })).body.data).toBeNull()
      const written = await send(gateway.url, 'POST', note, { token, body: { text: email } })
      expect(written.status, written.text).toBe(200)
      expect((await send(gateway.url, 'GET', note, { token })).body.data).toEqual({ text: email })
    }
    expect((await fetch(`${gateway.url}/docs`)).status).toBe(200)
  })
})
