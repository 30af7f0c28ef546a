import { generateKeyPairSync, X509Certificate } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { selfSigned } from '../../harness/certificate.ts'
import { needs } from '../../harness/needs.ts'
import { chromiumPath } from '../chromium.ts'
import { heading, pathOf } from './people.ts'
import { button, done, open, submit } from './workspace-people.ts'
import { type AppWorld, inspect, startAppWorld, type Visitor } from './world.ts'

/** The edge passes on the certificate of the caller's connection. */
const certificateHeader = 'x-client-cert'

describe('API keys in the portal', needs(chromiumPath, 'Chromium is not installed'), () => {
  let world: AppWorld
  let owner: Visitor
  beforeAll(async () => {
    world = await startAppWorld(({ portals }) => {
      portals.CONSUMER.edge.trustedProxies = ['127.0.0.1/32', '::1/128']
      portals.CONSUMER.edge.clientCertificate = { header: certificateHeader, format: 'sha256Hex' }
    })
    owner = await world.signIn('portal', 'owner@demo.test')
  })
  afterAll(() => world?.stop())

  const statusWith = async (secret: string, more: Record<string, string> = {}): Promise<number> => {
    const headers = { authorization: `Bearer ${secret}`, ...more }
    return (await fetch(`${world.url}/api/v1/consumer/wallets`, { headers })).status
  }

  test('a key works after its creation, not while disabled, and never again after the deletion', async () => {
    await open(owner, '/api-keys', 'API keys')
    await owner.page.getByRole('link', { name: 'Create an API key' }).click()
    await heading(owner, 'Create an API key')
    await owner.page.getByLabel('Name').fill('Accounting')
    await owner.page.getByLabel('View wallets', { exact: true }).check()
    await owner.page.getByLabel('Addresses').fill('127.0.0.1\n::1')
    await inspect(owner, 'portal-new-api-key')
    await button(owner, 'Create an API key').click()
    expect(await done(owner, 'The key Accounting has been created.')).toBe(true)
    await heading(owner, 'Accounting')
    const secret = await owner.page.getByLabel('Secret').inputValue()
    await inspect(owner, 'portal-created-api-key')
    expect(await statusWith(secret)).toBe(200)

    await open(owner, '/api-keys', 'API keys')
    expect(await owner.page.content()).not.toContain(secret)
    await button(owner, 'Disable: Accounting').click()
    await inspect(owner, 'portal-disable-api-key')
    await submit(owner, 'Disable')
    await done(owner, 'The key Accounting is disabled.')
    expect(await statusWith(secret)).toBe(401)
    await button(owner, 'Enable: Accounting').click()
    await submit(owner, 'Enable')
    await done(owner, 'The key Accounting is active.')
    expect(await statusWith(secret)).toBe(200)
    await owner.page.getByRole('link', { name: 'Accounting' }).click()
    await heading(owner, 'Accounting')
    await owner.page.getByText('127.0.0.1, ::1').waitFor()
    await inspect(owner, 'portal-api-key')
    await button(owner, 'Delete: Accounting').click()
    await submit(owner, 'Delete')
    await done(owner, 'The key Accounting has been deleted.')
    expect(await statusWith(secret)).toBe(401)
    await open(owner, '/api-keys', 'API keys')
    await owner.page.getByLabel('Status').selectOption('DELETED')
    await owner.page.getByRole('row', { name: 'Accounting' }).getByText('Deleted').waitFor()
  })

  test('a key with a public key has no secret, and the form refuses a private key', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519')
    await open(owner, '/api-keys/new', 'Create an API key')
    await owner.page.getByLabel('Name').fill('Signing')
    await owner.page.getByLabel('View wallets', { exact: true }).check()
    await owner.page.getByLabel('Credential').selectOption('JWT')
    await owner.page.getByLabel('Public key').fill(JSON.stringify(privateKey.export({ format: 'jwk' })))
    await button(owner, 'Create an API key').click()
    await owner.page.getByText('This is a private key. Enter only the public key.').waitFor()
    await owner.page.getByLabel('Public key').fill(JSON.stringify(publicKey.export({ format: 'jwk' })))
    await button(owner, 'Create an API key').click()
    await done(owner, 'The key Signing has been created.')
    await heading(owner, 'Signing')
    expect(await owner.page.getByLabel('Secret').count()).toBe(0)
    await owner.page.getByRole('link', { name: 'Show the key' }).click()
    await owner.page.getByText('Thumbprint').waitFor()
  })

  test('a key of a client certificate works only on its connection, and an operator sees the thumbprint', async () => {
    const [certificate, other] = [await fingerprint('DNS:payroll'), await fingerprint('DNS:other')]
    const thumbprint = Buffer.from(certificate, 'hex').toString('base64url')
    await open(owner, '/api-keys/new', 'Create an API key')
    await owner.page.getByLabel('Name').fill('Payroll server')
    await owner.page.getByLabel('View wallets', { exact: true }).check()
    await owner.page.getByLabel('Credential').selectOption('Client certificate (TLS)')
    await owner.page.getByText('Callers connect with their client certificate.').waitFor()
    await owner.page.getByLabel('Thumbprint').fill(certificate)
    await button(owner, 'Create an API key').click()
    await owner.page.locator('input[name=certificateThumbprint][aria-invalid=true]').waitFor()
    await inspect(owner, 'portal-new-api-key-certificate')
    await owner.page.getByLabel('Thumbprint').fill(thumbprint)
    await button(owner, 'Create an API key').click()
    await done(owner, 'The key Payroll server has been created.')
    await heading(owner, 'Payroll server')
    expect(await owner.page.getByLabel('Secret').count()).toBe(0)
    await inspect(owner, 'portal-created-api-key-certificate')
    const prefix = (await owner.page.locator('main code').first().textContent()) ?? ''
    expect(await statusWith(prefix)).toBe(401)
    expect(await statusWith(prefix, { [certificateHeader]: other })).toBe(401)
    expect(await statusWith(prefix, { [certificateHeader]: certificate })).toBe(200)
    await owner.page.getByRole('link', { name: 'Show the key' }).click()
    await owner.page.getByText(thumbprint).waitFor()
    await inspect(owner, 'portal-api-key-certificate')

    const operator = await world.signIn('console', 'operator@demo.test')
    await operator.page.goto(pathOf(world, 'console', `/api-keys?keyPrefix=${prefix}`))
    const key = operator.page.getByRole('listitem').filter({ hasText: 'Payroll server' })
    await key.getByText('Client certificate', { exact: true }).waitFor()
    await key.getByText(prefix, { exact: true }).waitFor()
    await key.getByText(thumbprint).waitFor()
    await inspect(operator, 'console-api-key-certificate')
    await operator.context.close()
  })

  test('a member who may only read sees the keys and why there are no commands', async () => {
    const member = await world.signIn('portal', 'member@demo.test')
    await open(member, '/api-keys', 'API keys')
    await member.page.getByText('Your role does not have the permission “Manage API keys”.').waitFor()
    await member.page.getByRole('row', { name: 'Signing' }).waitFor()
    expect(await member.page.getByRole('button', { name: /Disable|Delete/ }).count()).toBe(0)
    await open(member, '/api-keys/new', 'You do not have the permission for this page.')
    await member.context.close()
  })
})

/** The SHA-256 of a new certificate in hex. */
async function fingerprint(name: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'portico-certificate-'))
  try {
    return new X509Certificate(selfSigned(folder, name).cert).fingerprint256.replaceAll(':', '').toLowerCase()
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
