import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { load as parseYaml } from 'js-yaml'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { configurationFile } from '../config/configuration-file.ts'
import { runCli } from '../harness/cli.ts'
import { addMerchant } from '../harness/merchant.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { root } from '../harness/settings.ts'

const run = promisify(execFile)
const guide = readFileSync(join(root, 'docs/guides/another-portal.md'), 'utf8')
const blocks = (language: string) =>
  [...guide.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(([, text = '']) => text)
const { errorsOf, load } = configurationFile()

describe('the guide of another portal', () => {
  const configurations = blocks('yaml')
  let portico: Portico
  beforeAll(async () => {
    const declared = load(configurations[0] ?? '').portals.MERCHANT
    portico = await startPortico({ adjust: (settings) => addMerchant(settings, declared) })
  })
  afterAll(() => portico?.stop())

  test('every configuration is valid', () => {
    expect(configurations).toHaveLength(3)
    for (const yaml of configurations) {
      expect(parseYaml(yaml)).toHaveProperty('portals.MERCHANT')
      expect(errorsOf(yaml)).toEqual([])
    }
  })

  test('the request reads the time zones', async () => {
    const [request = '', check = ''] = blocks('sh')
    const { stdout } = await run('sh', ['-c', request.replace('http://127.0.0.1:8080', portico.url)])
    expect(JSON.parse(stdout)).toMatchObject({ success: true, code: '2000' })
    const portalCode = /--portal-code (\S+)/.exec(check)?.[1] ?? ''
    const only = ['--consumer-code', '', '--system-code', '', '--portal-code', portalCode]
    const { code, out } = await runCli(
      ['conformance', '--target', portico.url, ...only],
      parseYaml(configurations[0] ?? '') as object,
    )
    expect(code, out).toBe(0)
    expect(out).toMatch(/a token is required +\d{3} {2}ok/)
  })

  test('the client of the guide calls the portal', async () => {
    const [program = ''] = blocks('ts')
    const folder = mkdtempSync(join(root, 'node_modules/.another-portal-'))
    try {
      const file = join(folder, 'client.ts')
      const source = program
        .replace("'portico-client'", `'${join(root, 'src/client/index.ts')}'`)
        .replace('https://merchants.example.com', portico.url)
        .replace("accessCode: 'merchant-dev',", "accessCode: 'merchant-dev', edgeHeaders: true,")
      writeFileSync(file, source)
      const { client } = await import(file)
      expect(await client.listTimezones({})).not.toEqual([])
      await expect(client.readProfile()).rejects.toMatchObject({ status: 401 })
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
