import { createHash, randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { send } from '../harness/http.ts'
import type { Directory } from '../harness/prepared.ts'
import { emptyDirectory } from '../harness/prepared-pglite.ts'
import { type PorticoProcess, startProcess } from '../harness/process.ts'
import { productionKey } from '../harness/settings.ts'
import { signInAt } from '../harness/sign-in.ts'
import { seededDirectory } from '../harness/template.ts'

const extension = `
import { domain } from 'portico'
import { anonymous, operation, operator, z } from 'portico/contract'
const shared = { method: 'GET', summary: 'Read a gadget', body: 'none', reply: z.null(), refuses: [] }
const fail = async () => { throw new Error('no such column: colour') }
export default domain({
  name: 'gadgets',
  summary: 'Gadgets.',
  operations: {
    readGadget: operation({ ...shared, id: 'gadgets.read', path: '/gadgets', chains: ['system'],
      policy: { ...operator, permission: 'gadget:read' } }),
    readPublicGadget: operation({ ...shared, id: 'gadgets.readPublic', path: '/gadgets', chains: ['consumer'],
      policy: anonymous }),
  },
  permissions: { operator: { gadget: ['read'] } },
  locales: new URL('./locales/', import.meta.url),
  create: () => ({ handlers: { readGadget: fail, readPublicGadget: fail } }),
})
`
function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
const accessCode = 'consumer-production'
const production = `publicUrl: https://portal.example.com
mail: { from: no-reply@example.com }
database: { acceptEmbedded: true }
portals:
  CONSUMER: { edge: { trustedProxies: [127.0.0.1/32], secretHeader: { name: x-edge-secret, sha256: [${sha256('edge')}] } }, accessCodes: [${sha256(accessCode)}] }
  SYSTEM: { accessCodes: [${'b'.repeat(64)}] }
`

let folder: string
let empty: Directory
let seeded: Directory
function file(name: string) {
  return join(folder, name)
}
function start({ directory }: Directory, variables: Record<string, string>) {
  return startProcess({ PORTICO_DATA_DIR: directory, LOG_LEVEL: 'fatal', ...variables })
}
beforeAll(async () => {
  empty = await emptyDirectory()
  seeded = await seededDirectory()
  folder = await mkdtemp(join(tmpdir(), 'portico-thrown-'))
  const extensions = `extensions: [${file('gadgets.mjs')}]\n`
  await mkdir(file('locales'))
  await writeFile(
    file('locales/en.yaml'),
    'permission: { gadget:read: { name: View gadgets, description: See gadgets } }\n',
  )
  await writeFile(file('gadgets.mjs'), extension)
  await writeFile(file('portico.yaml'), extensions)
  await writeFile(file('production.yaml'), extensions + production)
})
afterAll(async () => {
  for (const each of [empty, seeded]) await each.remove()
  await rm(folder, { recursive: true, force: true })
})

async function explain({ operationsUrl }: PorticoProcess, requestId: string) {
  return (await fetch(`${operationsUrl}/explain/${requestId}`)).json()
}

test('gadgets.read 500: demo operators get a later permission, and the hint names the thrown error', async () => {
  const gateway = await start(seeded, { PORTICO_CONFIG: file('portico.yaml') })
  try {
    const token = (await signInAt(gateway, 'operator@demo.test')).accessToken
    const headers = { 'x-request-id': randomUUID(), 'x-portal-access-code': 'system-dev' }
    const answer = await send(gateway.url, 'GET', '/web/v1/system/gadgets', { token, headers })
    expect([answer.status, answer.headers.get('x-portico-hint')]).toEqual([500, 'no such column: colour'])
    expect(answer.text).not.toContain('colour')
    expect(await explain(gateway, headers['x-request-id'])).toMatchObject([{ internal: 'no such column: colour' }])
  } finally {
    await gateway.stop()
  }
})

test('gadgets.readPublic 500 in production: the message of the thrown error is in the log only', async () => {
  const gateway = await start(empty, {
    PORTICO_CONFIG: file('production.yaml'),
    PORTICO_PROFILE: 'production',
    PORTICO_SECRET_KEY: productionKey,
    SMTP_URL: 'smtps://127.0.0.1:1',
    LOG_LEVEL: 'error',
  })
  try {
    const headers = {
      'x-request-id': randomUUID(),
      'x-portal-access-code': accessCode,
      'x-forwarded-proto': 'https',
      'x-edge-secret': 'edge',
    }
    const answer = await send(gateway.url, 'GET', '/web/v1/consumer/gadgets', { headers })
    expect([answer.status, answer.text]).toEqual([500, expect.anything()])
    expect(JSON.stringify([answer.text, ...answer.headers])).not.toContain('colour')
    const explained = await explain(gateway, headers['x-request-id'])
    expect(explained).toMatchObject([{ internal: 'unexpected error' }])
    expect(JSON.stringify(explained)).not.toContain('colour')
    await expect.poll(() => gateway.output()).toContain('no such column: colour')
  } finally {
    await gateway.stop()
  }
})
