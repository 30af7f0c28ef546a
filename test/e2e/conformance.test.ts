import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { rateGroups } from '../../src/kernel/index.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { root } from '../harness/settings.ts'
import { storeIsAvailable } from '../harness/store.ts'

const conformance = async (target: string): Promise<{ code: number | null; output: string }> => {
  const child = spawn(process.execPath, ['bin/portico.js', 'conformance', '--target', target], { cwd: root })
  let output = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  child.stderr.on('data', (chunk) => {
    output += chunk
  })
  await once(child, 'close')
  return { code: child.exitCode, output }
}

describe.skipIf(!storeIsAvailable())('portico conformance', () => {
  let portico: Portico
  beforeAll(async () => {
    portico = await startPortico()
  })
  afterAll(() => portico?.stop())

  test('a Portico deployment passes: a table and exit code 0', async () => {
    const { code, output } = await conformance(portico.url)
    expect(output).toContain('a token is required')
    expect(output).not.toContain(' not\n')
    expect(code, output).toBe(0)
  })

  test('a limit that does not clear in time is reported separately: exit code 0', async () => {
    const limited = await startPortico({
      adjust: (settings) => {
        settings.limits.scale = 1
        settings.limits.address.limit = 100_000
        for (const group of rateGroups)
          settings.limits.groups[group] = { account: { limit: 100_000, windowMs: 60_000 } }
        settings.limits.groups.password = { address: { limit: 1, windowMs: 900_000 } }
      },
    })
    const { code, output } = await conformance(limited.url)
    await limited.stop()
    expect(output).toMatch(/^a token is required +\d+ {2}ok, 2 limited$/m)
    expect(output).not.toContain('RATE_LIMITED')
    expect(code, output).toBe(0)
  })

  test('another server fails: the findings are listed, exit code 1', async () => {
    const other = createServer((_request, response) => response.end('{"hello":"world"}'))
    other.listen(0, '127.0.0.1')
    await once(other, 'listening')
    const address = other.address()
    const { code, output } = await conformance(
      `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`,
    )
    other.close()
    expect(code).toBe(1)
    expect(output).toContain('auth.logout on consumer: expected 401 ACCESS.TOKEN_MISSING, got 200 and no envelope')
  })
})
