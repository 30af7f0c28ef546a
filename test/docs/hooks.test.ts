import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../src/seed/development.ts'
import { runProgram } from '../harness/cli.ts'
import { send } from '../harness/http.ts'
import { type PorticoProcess, startCommand } from '../harness/process.ts'
import { root } from '../harness/settings.ts'
import { signInAt } from '../harness/sign-in.ts'

const guide = 'docs/guides/hooks.md'
const text = readFileSync(join(root, guide), 'utf8')
const files = [...text.matchAll(/^```(?:yaml|js)\n(?:#|\/\/) (\S+)\n(.*?)^```$/gms)]
const { workspace, mainUsd, savingsUsd } = developmentIds

describe(guide, () => {
  let folder: string
  let gateway: PorticoProcess
  let variables: Record<string, string>
  let token: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'portico-hooks-'))
    for (const [, file = '', code = ''] of files) {
      await mkdir(dirname(join(folder, file)), { recursive: true })
      await writeFile(join(folder, file), code)
    }
    variables = { PORTICO_CONFIG: 'portico.yaml', PORTICO_DATA_DIR: join(folder, 'data') }
    gateway = await startCommand([process.execPath, join(root, 'bin/portico.js'), 'serve'], variables, { cwd: folder })
    token = (await signInAt(gateway, 'owner@demo.test')).accessToken
  })
  afterAll(async () => {
    await gateway?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  const transfer = async (amount: string, requestId: string = randomUUID()) => {
    const body = { sourceWalletBizId: mainUsd, targetWalletBizId: savingsUsd, amount, currency: 'USD' }
    const headers = { 'x-request-id': requestId }
    return (
      await send(gateway.url, 'POST', '/web/v1/consumer/transfer/command/create', { token, workspace, headers, body })
    ).body
  }

  test('config check prints the lines of the guide', async () => {
    const { code, err } = await runProgram(['config', 'check'], {}, { variables, cwd: folder })
    expect([code, err]).toEqual([0, text.match(/^portico: extensions: .*\n/gm)?.join('')])
  })

  test('transfers.create 422 LIMIT.EXCEEDED: the limit of the guide applies to the sum of the day', async () => {
    const requestId = randomUUID()
    expect((await transfer('600.00', requestId)).success).toBe(true)
    const refused = await transfer('400.01')
    expect([refused.code, refused.message]).toEqual(['LIMIT.EXCEEDED', 'the workspace has reached its daily limit'])
    // Of four in parallel, two fit into the rest. The retry counts once.
    const outcomes = await Promise.all(['200.00', '200.00', '200.00', '200.00'].map((amount) => transfer(amount)))
    expect(outcomes.filter(({ success }) => success)).toHaveLength(2)
    expect((await transfer('600.00', requestId)).success).toBe(true)
    expect((await transfer('0.01')).code).toBe('LIMIT.EXCEEDED')
  })
})
