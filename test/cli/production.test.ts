import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { emptyDirectory } from '../harness/prepared-pglite.ts'
import { startProcess } from '../harness/process.ts'
import { productionKey } from '../harness/settings.ts'

const folder = await mkdtemp(join(tmpdir(), 'portico-production-'))
const [empty, seeded] = [await emptyDirectory(), await emptyDirectory()]
afterAll(async () => {
  for (const each of [empty, seeded]) await each.remove()
  await rm(folder, { recursive: true, force: true })
})

const file = join(folder, 'portico.yaml')
function portal(digit: string) {
  return `{ accessCodes: [${digit.repeat(64)}] }`
}
await writeFile(
  file,
  `publicUrl: https://portal.example.com
mail: { from: no-reply@example.com }
database: { acceptEmbedded: true }
portals: { CONSUMER: ${portal('a')}, SYSTEM: ${portal('b')} }
`,
)
const production = {
  PORTICO_PROFILE: 'production',
  PORTICO_CONFIG: file,
  PORTICO_SECRET_KEY: productionKey,
  SMTP_URL: 'smtps://127.0.0.1:1',
}

test('serve in production: /docs has no sign-in with demo accounts', async () => {
  const running = await startProcess({
    PORTICO_DATA_DIR: empty.directory,
    LOG_LEVEL: 'error',
    ...production,
  })
  try {
    const get = (path: string) => fetch(`${running.url}${path}`)
    expect((await get('/docs')).status).toBe(200)
    for (const path of ['/docs/demo.js', '/docs/demo.json', '/docs/demo-codes.json'])
      expect([path, (await get(path)).status]).toEqual([path, 404])
    expect(await (await get('/docs/start.js')).text()).not.toContain('demo')
    expect(await (await get('/openapi.json')).text()).not.toMatch(/Portico-demo-2026|01990000-0000-7000-8000/)
  } finally {
    await running.stop()
  }
})

test('serve in production: refuses a store with the development accounts, and lists them', async () => {
  const shared = {
    PORTICO_DATA_DIR: seeded.directory,
    PORTICO_SECRET_KEY: productionKey,
    LOG_LEVEL: 'error',
  }
  await (await startProcess(shared)).stop()
  const outcome = await startProcess({ ...shared, ...production }).then(
    async (running) => `started, ${await running.stop()}`,
    (error: Error) => error.message,
  )
  for (const name of ['owner', 'member', 'operator', 'checker'])
    expect(outcome).toContain(`the store holds the development account ${name}@demo.test`)
})

test('serve in production: prints the log only, and a refusal has no hint', async () => {
  const gateway = await startProcess({ ...production, PORTICO_DATA_DIR: empty.directory })
  const response = await fetch(`${gateway.url}/web/v1/consumer/profile`)
  expect([response.status, response.headers.get('x-portico-hint')]).toEqual([403, null])
  expect((await fetch(gateway.url)).status).toBe(404)
  await gateway.stop()
  const lines = gateway.output().trim().split('\n')
  expect(lines.map((line) => JSON.parse(line).msg)).toContain('listening')
})
