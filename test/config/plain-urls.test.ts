import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { bankingDomains } from '../../src/banking/index.ts'
import { schemaWith } from '../../src/config/domain-settings.ts'
import { isRecord } from '../../src/kernel/index.ts'
import { productionKey } from '../harness/settings.ts'
import { configurationFile } from './configuration-file.ts'

const { errorsOf } = configurationFile()

const plain = 'http://service.example'
const merchant = {
  ...{ prefix: 'merchant', code: 10010111 },
  accessCodes: ['c'.repeat(64)],
  edge: { kind: 'direct', trustedProxies: [] },
}
const codes = {
  CONSUMER: { accessCodes: ['a'.repeat(64)] },
  SYSTEM: { accessCodes: ['b'.repeat(64)] },
  MERCHANT: merchant,
}
const settings = {
  profile: 'production',
  publicUrl: 'https://portal.example',
  mail: { from: 'Portal <no-reply@portal.example>' },
  portals: codes,
}
const variables = {
  PORTICO_SECRET_KEY: productionKey,
  DATABASE_URL: 'postgres://db.example/portico?sslmode=verify-full',
  SMTP_URL: 'smtps://mail.example',
}

type Name = keyof typeof codes

function inPortal(name: Name, changed: object): object {
  return { portals: { ...codes, [name]: { ...codes[name], ...changed } } }
}

/**
 * Every setting whose value is a URL, with a value that leaves this machine without TLS. The settings of extensions belong to
 * the extensions.
 */
const settingsWithUrl: Readonly<Record<string, object>> = {
  publicUrl: { publicUrl: plain },
  ...Object.fromEntries(
    (['CONSUMER', 'SYSTEM', 'MERCHANT'] as const).flatMap((name) => [
      ...['signIn', 'passwordReset', 'factorUndo', 'providerCallback'].map((link) => [
        `portals.${name}.links.${link}`,
        inPortal(name, { links: { [link]: plain } }),
      ]),
      [`portals.${name}.origins[]`, inPortal(name, { origins: [plain] })],
      [`portals.${name}.identityProviders[].issuer`, ofProvider(name, { issuer: plain })],
      [`portals.${name}.identityProviders[].returnTo[]`, ofProvider(name, { returnTo: [plain] })],
      [
        `portals.${name}.passkeys.origins[]`,
        inPortal(name, {
          passkeys: { rpId: 'service.example', origins: [plain], userVerification: 'required', attestation: 'none' },
        }),
      ],
      // Of this machine: the schema accepts no other one.
      [`portals.${name}.site.url`, inPortal(name, { site: { url: 'http://127.0.0.1:5173' } })],
    ]),
  ),
  'passwords.breachCheck.url': { passwords: { breachCheck: { url: `${plain}/range/` } } },
  'turnstile.verifyUrl': { turnstile: { verifyUrl: plain } },
  'files.storage.endpoint': { files: { storage: { kind: 's3', bucket: 'portico', endpoint: plain } } },
  'money.exchange.provider.url': {
    money: { exchange: { provider: { url: plain, refreshMs: 1_000, staleAfterMs: 9_000 } } },
  },
  'backends.<name>.url': { backends: { transfers: { url: plain } } },
  'backends.<name>.shadow.url': { backends: { transfers: { url: 'in-process', shadow: { url: plain, share: 1 } } } },
  'backends.<name>.canary.url': { backends: { transfers: { url: 'in-process', canary: { url: plain } } } },
  'passThrough[].url': {
    passThrough: [
      {
        prefix: '/web/v1/consumer/legacy',
        url: plain,
        policy: { caller: 'account', workspace: 'none', permission: null, rate: 'general', stepUp: false },
      },
    ],
  },
  'assertion.jwksUrl': { assertion: { jwksUrl: plain } },
  'audit.export.to': { audit: { export: { to: plain, secret: `whsec_${'A'.repeat(32)}` } } },
}

function ofProvider(portal: Name, changed: object): object {
  const provider = { id: 'company', name: 'Company', issuer: 'https://id.example', clientId: 'portico' }
  const complete = { ...provider, clientSecret: 'a secret of the client', provisioning: 'none', ...changed }
  return inPortal(portal, {
    identityProviders: [complete],
    links: { providerCallback: 'https://service.example/callback' },
  })
}

/** Returns the paths of all URLs in a JSON schema. */
function urlsIn(node: unknown, path: string): string[] {
  if (!isRecord(node)) return []
  const { format, properties, additionalProperties, items, anyOf, oneOf, allOf } = node
  const of = isRecord(properties) ? Object.entries(properties) : []
  return [
    ...(format === 'uri' ? [path] : []),
    ...of.flatMap(([name, below]) => urlsIn(below, path === '' ? name : `${path}.${name}`)),
    ...urlsIn(additionalProperties, `${path}.<name>`),
    ...urlsIn(items, `${path}[]`),
    ...[anyOf, oneOf, allOf]
      .flatMap((several) => (Array.isArray(several) ? several : []))
      .flatMap((each) => urlsIn(each, path)),
  ]
}

describe('production refuses each URL that leaves this machine without TLS', () => {
  test('accepts the other settings of this test', () => {
    expect(errorsOf(settings, variables)).toEqual([])
  })

  test('these are all URLs of the schema', () => {
    const { schema } = schemaWith(bankingDomains)
    const paths = urlsIn(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }), '')
    expect([...new Set(paths)].sort()).toEqual(
      Object.keys(settingsWithUrl)
        .map((path) => path.replace('.MERCHANT.', '.<name>.'))
        .sort(),
    )
  })

  test.each(Object.entries(settingsWithUrl))('%s', (path, changed) => {
    const [name = ''] = path
      .replace('<name>', 'transfers')
      .replace(/(passThrough|identityProviders)\[\]/, '$1.0')
      .split('[')
    const errors = errorsOf({ ...settings, ...changed }, variables)
    expect(errors).toEqual([expect.stringMatching(/must be https in production|is only for development/)])
    expect(errors[0]).toMatch(new RegExp(`^${RegExp.escape(name)}: `))
  })
})
