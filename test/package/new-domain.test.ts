import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { send } from '../harness/http.ts'
import { needs } from '../harness/needs.ts'
import type { PorticoProcess } from '../harness/process.ts'
import { signInAt } from '../harness/sign-in.ts'
import { folderIn, runIn, startIn } from './user.ts'

describe.each([
  { language: 'TypeScript', extension: 'ts', options: [] },
  { language: 'JavaScript', extension: 'js', options: ['--javascript'] },
])('portico new domain in $language, in an empty folder', ({ language, extension, options }) => {
  let folder: string
  let gateway: PorticoProcess | undefined
  const configured = { PORTICO_CONFIG: 'loans/portico.yaml' }

  beforeAll(async () => {
    folder = await folderIn('development')
    const { code, stderr } = await runIn(folder, ['npx', 'portico', 'new', 'domain', 'loans', ...options])
    expect([code, stderr]).toEqual([0, ''])
  })
  afterAll(() => gateway?.stop())

  test('compiles', needs(language === 'TypeScript', 'JavaScript is not compiled'), async () => {
    const compile = ['npx', 'tsc', '-p', 'loans', '--skipLibCheck', 'false', '--pretty', 'false']
    expect(await runIn(folder, compile)).toEqual({ code: 0, stdout: '', stderr: '' })
  })

  test('its tests pass', async () => {
    const { code, stdout, stderr } = await runIn(folder, ['npx', 'vitest', 'run', 'loans'])
    expect(code, stdout + stderr).toBe(0)
    expect(stdout).toMatch(/Tests +\d{2} passed/)
  })

  test('its tests name the table to edit if an operation lacks a sample', async () => {
    const file = join(folder, 'loans', `missing.test.${extension}`)
    await writeFile(
      file,
      `import { promises } from 'portico/testing'
      import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
      import domain from './index.${extension}'
      vi.setConfig({ hookTimeout: 120_000, testTimeout: 60_000 })
      promises([domain], { describe, test, beforeAll, afterAll, expect })`,
    )
    const { code, stdout, stderr } = await runIn(folder, ['npx', 'vitest', 'run', file, '-t', 'loans.read'])
    expect(code).toBe(1)
    expect(stdout + stderr).toContain("add valid input with loan_id for 'loans.read' to `samples` of promises()")
  })

  test('portico config check accepts it', async () => {
    const { code, stdout, stderr } = await runIn(folder, ['npx', 'portico', 'config', 'check'], configured)
    const ports = `portico: extensions: ./loans/index.${extension}: loans needs clock, database, ids, once\n`
    expect([code, stderr]).toEqual([0, ports])
    expect(stdout).toContain(`- ./loans/index.${extension}`)
  })

  test('portico serve answers its operations', async () => {
    gateway = await startIn(folder, ['npx', 'portico', 'serve'], configured)
    const { accessToken: token } = await signInAt(gateway)
    const call = (method: string, path: string, body?: object) =>
      send(gateway?.url ?? '', method, `/web/v1/consumer${path}`, { token, ...(body && { body }) })
    const created = await call('POST', '/loans', { name: 'First' })
    expect(created.body.data, created.text).toMatchObject({ name: 'First' })
    expect((await call('GET', `/loans/${created.body.data.bizId}`)).body.data).toEqual(created.body.data)
    expect((await call('GET', '/loans')).body.data).toEqual([created.body.data])
    const again = await call('POST', '/loans', { name: 'First' })
    expect([again.status, again.body.code, again.body.message]).toEqual([409, 'LOAN.EXISTS', 'the name exists already'])
  })
})
