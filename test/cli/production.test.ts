import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { startProcess } from '../harness/process.ts'
import { productionKey } from '../harness/settings.ts'

const folder = await mkdtemp(join(tmpdir(), 'portico-production-'))
afterAll(() => rm(folder, { recursive: true, force: true }))

test('serve in production: refuses a store with the development accounts, and lists them', async () => {
  const shared = {
    PORTICO_DATA_DIR: join(folder, 'data'),
    PORTICO_SECRET_KEY: productionKey,
    LOG_LEVEL: 'error',
  }
  await (await startProcess(shared)).stop()
  const file = join(folder, 'portico.yaml')
  const portal = (digit: string) => `{ accessCodes: [${digit.repeat(64)}] }`
  await writeFile(
    file,
    `publicUrl: https://portal.example.com
mail: { from: no-reply@example.com }
database: { acceptEmbedded: true }
portals: { CONSUMER: ${portal('a')}, SYSTEM: ${portal('b')} }
`,
  )
  const production = { ...shared, PORTICO_PROFILE: 'production', PORTICO_CONFIG: file, SMTP_URL: 'smtps://127.0.0.1:1' }
  const outcome = await startProcess(production).then(
    async (running) => `started, ${await running.stop()}`,
    (error: Error) => error.message,
  )
  for (const name of ['owner', 'member', 'operator', 'checker'])
    expect(outcome).toContain(`the store holds the development account ${name}@demo.test`)
})
