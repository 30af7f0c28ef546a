import { hash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { Variables } from '../../src/config/env.ts'
import { developmentAccessCodeHashes, developmentKey } from '../../src/config/production.ts'
import { productionKey } from '../harness/settings.ts'
import { configurationFile } from './configuration-file.ts'

const { errorsOf, load } = configurationFile()

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64')
}

describe('production', () => {
  const codes = (hash: string) => ({ accessCodes: [hash] })
  const settings = {
    profile: 'production',
    publicUrl: 'https://portal.example',
    mail: { from: 'Portal <no-reply@portal.example>' },
    portals: { CONSUMER: codes('a'.repeat(64)), SYSTEM: codes('b'.repeat(64)) },
  }
  const PORTICO_SECRET_KEY = productionKey
  const DATABASE_URL = 'postgres://db.example/portico?sslmode=verify-full'
  const SMTP_URL = 'smtps://mail.example'
  const variables = { PORTICO_SECRET_KEY, DATABASE_URL, SMTP_URL }

  test('accepts its own URL, sender, access codes, key and mail server, without development settings', () => {
    const production = load(settings, variables)
    expect(production.portals.SYSTEM.accessCodes).toEqual(['b'.repeat(64)])
    expect(production.profile).toBe('production')
    const development = load({})
    expect(production.portals.CONSUMER.edge).not.toEqual(development.portals.CONSUMER.edge)
  })

  test('accepts the scheme of publicUrl in upper case', () => {
    expect(errorsOf({ ...settings, publicUrl: 'HTTPS://portal.example' }, variables)).toEqual([])
  })

  const siem = 'https://siem.example/x'
  const exportTo = (to: string, secret: string | null = `whsec_${'A'.repeat(32)}`) => ({ export: { to, secret } })

  test('accepts audit.export to standard output, to https and to a loopback address', () => {
    for (const to of ['off', 'stdout', siem, 'http://127.0.0.1:8088/x'])
      expect(errorsOf({ ...settings, audit: exportTo(to) }, variables), to).toEqual([])
    expect(JSON.stringify(load({ ...settings, audit: exportTo(siem) }, variables).audit)).not.toMatch(/siem|whsec/)
  })

  const [developmentCode = ''] = developmentAccessCodeHashes
  const consumer = { ...settings.portals, CONSUMER: { accessCodes: ['a'.repeat(64), developmentCode] } }
  const leading = (links: object) => ({ portals: { ...settings.portals, SYSTEM: { ...codes('b'.repeat(64)), links } } })
  const withOrigins = (origins: string[]) => ({
    portals: { ...settings.portals, CONSUMER: { ...codes('a'.repeat(64)), origins } },
  })

  test('accepts the embedded store if database.acceptEmbedded is true', () => {
    const accepting = { ...settings, database: { acceptEmbedded: true } }
    expect(errorsOf(accepting, { PORTICO_SECRET_KEY, SMTP_URL })).toEqual([])
  })

  test('serves an application only with the plain text of an access code, and none by default', () => {
    const serving = (accessCode: string) => ({
      portals: { ...settings.portals, CONSUMER: { ...codes(hash('sha256', 'a code')), app: { accessCode } } },
    })
    expect(errorsOf({ ...settings, ...serving('a code') }, variables)).toEqual([])
    expect(errorsOf({ ...settings, ...serving('another code') }, variables)).toEqual([
      'portals.CONSUMER.app.accessCode: must be the plain text of one of portals.CONSUMER.accessCodes',
    ])
    expect(load(settings, variables).portals.CONSUMER.app).toBeNull()
  })

  test('accepts own exchange rates, and has none by default', () => {
    const rates = [{ source: 'USD', target: 'EUR', rate: '0.9216' }]
    expect(errorsOf({ ...settings, money: { exchange: { rates } } }, variables)).toEqual([])
    expect(load(settings, variables).money.exchange.rates).toEqual([])
  })

  test('refuses the sample exchange rates of the development profile, except the peg of BHD', () => {
    const { rates } = load({}).money.exchange
    const samples = rates.filter(({ target }) => target !== 'BHD')
    expect(errorsOf({ ...settings, money: { exchange: { rates } } }, variables)).toEqual(
      samples.map(
        ({ source, target, rate }) =>
          `money.exchange.rates: ${source}/${target} ${rate} is the sample rate of the development profile`,
      ),
    )
    expect(samples).toHaveLength(rates.length - 1)
    const padded = [{ source: 'USD', target: 'EUR', rate: '0.92150' }]
    expect(errorsOf({ ...settings, money: { exchange: { rates: padded } } }, variables)).toHaveLength(1)
  })

  test('accepts limits that are scaled down', () => {
    expect(errorsOf(settings, { ...variables, PORTICO_RATE_LIMIT_SCALE: '0.5' })).toEqual([])
  })

  test('accepts links that are absolute URLs', () => {
    const links = { signIn: 'https://operators.example/', passwordReset: '/reset' }
    expect(errorsOf({ ...settings, ...leading(links) }, variables)).toEqual([])
  })

  test.each(['requireTLS=true', 'requireTLS=false', 'name=portal.example&requireTLS=true'])(
    'accepts smtp:// with an explicit requireTLS: %s',
    (query) => {
      expect(errorsOf(settings, { ...variables, SMTP_URL: `smtp://mail.example:587?${query}` })).toEqual([])
    },
  )

  // nodemailer would interpret these values as booleans.
  test.each(['', '?requireTLS=', '?requireTLS=no', '?requireTLS=true&requireTLS=false'])(
    'refuses smtp:// without an explicit requireTLS: %j',
    (query) => {
      expect(errorsOf(settings, { ...variables, SMTP_URL: `smtp://u:hidden@mail.example${query}` })).toEqual([
        'SMTP_URL: smtp:// needs ?requireTLS=true in production, or ?requireTLS=false to send codes and links without encryption',
      ])
    },
  )

  const edge = (of: object) => ({ portals: { ...settings.portals, CONSUMER: { ...codes('a'.repeat(64)), edge: of } } })
  const backend = (place: object) => ({ backends: { transfers: { audience: 'a', ...place } } })

  const storage = (of: object) => ({ files: { storage: { kind: 's3', bucket: 'portico', ...of } } })
  const provider = (of: object) => ({
    money: { exchange: { provider: { refreshMs: 1_000, staleAfterMs: 9_000, ...of } } },
  })
  const files = (storage: object) => ({ files: { storage } })
  const unsharedFiles =
    'files.storage.kind: must be s3 in production with REDIS_URL, or files.storage.shared must be true (all replicas share the folder)'
  const sharedFiles = files({ kind: 'disk', shared: true })

  test.each<[string, object, Variables]>([
    ['PostgreSQL without TLS on purpose', {}, { DATABASE_URL: 'postgres://db.example/portico?sslmode=disable' }],
    ['PostgreSQL on a loopback address', {}, { DATABASE_URL: 'postgres://127.0.0.1:5432/portico' }],
    ['PostgreSQL on a Unix socket', {}, { DATABASE_URL: 'postgres:///portico?host=/var/run/postgresql' }],
    ['Redis with TLS', sharedFiles, { REDIS_URL: 'rediss://redis.example' }],
    ['Redis without TLS on purpose', sharedFiles, { REDIS_URL: 'redis://redis.example/2?tls=off' }],
    ['Redis on a loopback address', sharedFiles, { REDIS_URL: 'redis://[::1]:6379' }],
    ['Redis with files in S3', files({ kind: 's3', bucket: 'portico' }), { REDIS_URL: 'rediss://redis.example' }],
    ['files on a disk without Redis', files({ kind: 'disk' }), {}],
    ['wide ranges on purpose', edge({ kind: 'direct', trustedProxies: ['10.0.0.0/8'], acceptWideRanges: true }), {}],
    [
      'Cloudflare with its ranges',
      edge({ kind: 'cloudflare', trustedProxies: ['10.0.0.5/32'], cloudflareRanges: ['173.245.48.0/20'] }),
      {},
    ],
    [
      'Cloudflare with a secret header',
      edge({
        kind: 'cloudflare',
        trustedProxies: ['10.0.0.5/32'],
        secretHeader: { name: 'x-edge-secret', sha256: ['c'.repeat(64)] },
      }),
      {},
    ],
    ['an upstream with TLS', backend({ url: 'https://service.example' }), {}],
    ['an upstream without TLS on purpose', backend({ url: 'http://service.example', acceptPlain: true }), {}],
    ['an upstream on a loopback address', backend({ url: 'http://localhost:8081' }), {}],
    ['the keys of the gateway with TLS', { assertion: { jwksUrl: 'https://gateway.internal/keys' } }, {}],
    [
      'the keys of the gateway without TLS on purpose',
      { assertion: { jwksUrl: 'http://gateway.internal/keys', acceptPlain: true } },
      {},
    ],
    ['an S3 store on a loopback address', storage({ endpoint: 'http://127.0.0.1:9000' }), {}],
    ['an S3 store without TLS on purpose', storage({ endpoint: 'http://s3.internal', acceptPlain: true }), {}],
    [
      'an S3 store of a variable without TLS on purpose',
      storage({ acceptPlain: true }),
      { AWS_ENDPOINT_URL: 'http://s3.internal' },
    ],
    ['the endpoint of a variable that is not used', {}, { AWS_ENDPOINT_URL_S3: 'http://s3.internal' }],
    ['exchange rates without TLS on purpose', provider({ url: 'http://rates.internal', acceptPlain: true }), {}],
    [
      'the variables of Kubernetes for a service',
      {},
      { PORTICO_SERVICE_HOST: '10.1.0.1', PORTICO_PORT: 'tcp://10.1.0.1:80' },
    ],
    [
      'those of a named port',
      {},
      { PORTICO_OPERATIONS_SERVICE_PORT_OPERATIONS: '9090', PORTICO_PORT_80_TCP_ADDR: '10.1.0.1' },
    ],
  ])('accepts %s', (_name, changed, environment) => {
    expect(errorsOf({ ...settings, ...changed }, { ...variables, ...environment })).toEqual([])
  })

  test('tls=off is not passed on to the Redis library', () => {
    const { redisUrl } = load(
      { ...settings, ...sharedFiles },
      { ...variables, REDIS_URL: 'redis://redis.example/2?tls=off&family=6' },
    )
    expect(redisUrl?.reveal()).toBe('redis://redis.example/2?family=6')
  })

  test.each<[string[], object, Variables]>([
    [
      ['DATABASE_URL: needs ?sslmode=verify-full in production, or ?sslmode=disable to connect without encryption'],
      {},
      { DATABASE_URL: 'postgres://u:hidden@db.example/portico?application_name=portico' },
    ],
    [
      ['DATABASE_URL: has the parameter host more than once'],
      {},
      { DATABASE_URL: 'postgres://u:hidden@db.example/portico?host=localhost&host=db.example' },
    ],
    [
      ['DATABASE_URL: has the unknown parameter sslMode'],
      {},
      { DATABASE_URL: 'postgres://db.example/portico?sslmode=verify-full&sslMode=disable' },
    ],
    [
      [
        'REDIS_URL: has a tls parameter other than off; use rediss:// for TLS',
        'REDIS_URL: must begin with rediss:// in production, or have ?tls=off to connect without encryption',
      ],
      sharedFiles,
      { REDIS_URL: 'redis://u:hidden@redis.example?tls=true' },
    ],
    [['REDIS_URL: has the unknown parameter retries'], sharedFiles, { REDIS_URL: 'rediss://redis.example?retries=1' }],
    [['SMTP_URL: has the unknown parameter secure_tls'], {}, { SMTP_URL: 'smtps://mail.example?secure_tls=1' }],
    [
      ['backends.transfers.url: must be https in production, or backends.transfers.acceptPlain must be true'],
      backend({ url: 'http://service.example' }),
      {},
    ],
    [
      [
        'portals.CONSUMER.edge.trustedProxies: 10.0.0.0/8 is wider than /16 (IPv4) or /32 (IPv6); name the proxies, or set acceptWideRanges',
        'portals.CONSUMER.edge.trustedProxies: fd00::/8 is wider than /16 (IPv4) or /32 (IPv6); name the proxies, or set acceptWideRanges',
      ],
      edge({ kind: 'direct', trustedProxies: ['10.0.0.0/8', '10.1.0.0/16', 'fd00::/8', '2001:db8::/32'] }),
      {},
    ],
    [
      ['portals.CONSUMER.edge: cloudflare needs cloudflareRanges or secretHeader in production'],
      edge({ kind: 'cloudflare', trustedProxies: ['10.0.0.5/32'] }),
      {},
    ],
    [
      ['PORTICO_SECRETKEY: is not a variable of Portico; remove it or correct its name'],
      {},
      { PORTICO_SECRETKEY: 'hidden' },
    ],
    [
      ['PORTICO_SECRET_KEY_PREVIOUS: contains the development key'],
      {},
      { PORTICO_SECRET_KEY_PREVIOUS: base64(developmentKey()) },
    ],
    [
      ['PORTICO_SECRET_KEY_PREVIOUS: contains a key that is not random; generate keys with `openssl rand -base64 32`'],
      {},
      { PORTICO_SECRET_KEY_PREVIOUS: `${hash('sha256', 'one', 'base64')}, ${base64(new Uint8Array(32))}` },
    ],
    [
      ['assertion.jwksUrl: must be https in production, or assertion.acceptPlain must be true'],
      { assertion: { jwksUrl: 'http://gateway.internal:9090/.well-known/jwks.json' } },
      {},
    ],
    [
      ['AWS_ENDPOINT_URL_S3: must be https in production, or files.storage.acceptPlain must be true'],
      storage({}),
      { AWS_ENDPOINT_URL_S3: 'http://s3.internal', AWS_ENDPOINT_URL: 'https://s3.internal' },
    ],
    [
      ['NODE_TLS_REJECT_UNAUTHORIZED: must not be 0 in production; name the authority in NODE_EXTRA_CA_CERTS'],
      {},
      { NODE_TLS_REJECT_UNAUTHORIZED: '0' },
    ],
    [
      [
        'DATABASE_URL: needs ?sslmode=verify-full in production, or ?sslmode=disable to connect without encryption',
        'REDIS_URL: must begin with rediss:// in production, or have ?tls=off to connect without encryption',
        'SMTP_URL: smtp:// needs ?requireTLS=true in production, or ?requireTLS=false to send codes and links without encryption',
        'SMTP_URL: has the unknown parameter requiretls',
        'PORTICO_PROFIL: is not a variable of Portico; remove it or correct its name',
      ],
      sharedFiles,
      {
        DATABASE_URL: 'postgres://db.example/x',
        REDIS_URL: 'redis://redis.example',
        SMTP_URL: 'smtp://mail.example?requiretls=true',
        PORTICO_PROFIL: 'production',
      },
    ],
  ])('refuses, and lists every error: %j', (errors, changed, environment) => {
    expect(errorsOf({ ...settings, ...changed }, { ...variables, ...environment })).toEqual(errors)
  })

  test.each<[string, string[], object, Variables]>([
    [
      'NODE_ENV',
      ['PORTICO_PROFILE: must be set to production or development: NODE_ENV is production'],
      {},
      { NODE_ENV: 'production' },
    ],
    [
      'a store and own access codes',
      [
        'PORTICO_PROFILE: must be set to production or development: DATABASE_URL is set, and no access code is a development code',
      ],
      { portals: settings.portals },
      { DATABASE_URL },
    ],
    ['a store only', [], {}, { DATABASE_URL }],
    ['own access codes only', [], { portals: settings.portals }, {}],
    [
      'the development profile',
      [],
      { profile: 'development', portals: settings.portals },
      { DATABASE_URL, NODE_ENV: 'production' },
    ],
  ])('a missing profile next to production settings: %s', (_name, errors, changed, environment) => {
    expect(errorsOf(changed, environment)).toEqual(errors)
  })

  test.each<[string, object, Variables]>([
    ['portals.CONSUMER.accessCodes: contains a development code; replace it', { portals: consumer }, variables],
    ['publicUrl: must be https in production', { publicUrl: 'http://portal.example' }, variables],
    [
      'portals.SYSTEM.links.passwordReset: must be https in production',
      leading({ passwordReset: 'HTTP://operators.example/reset' }),
      variables,
    ],
    [
      'portals.CONSUMER.origins: http://app.example must be https in production',
      withOrigins(['https://app.example', 'http://localhost:5173', 'http://app.example']),
      variables,
    ],
    [
      'portals.CONSUMER.site.url: is only for development; set portals.CONSUMER.site.directory',
      {
        portals: {
          ...settings.portals,
          CONSUMER: { ...codes('a'.repeat(64)), site: { url: 'http://127.0.0.1:5173' } },
        },
      },
      variables,
    ],
    ['audit.export.to: must be https in production', { audit: exportTo('http://siem.example/x') }, variables],
    ['audit.export.secret: must be set, because audit.export.to is a URL', { audit: exportTo(siem, null) }, variables],
    ['audit.export.secret: must be `whsec_` and 24 to 64 bytes in base64', { audit: exportTo(siem, 'x') }, variables],
    ['mail.from: is the development address', { mail: { from: 'no-reply@portico.test' } }, variables],
    ['PORTICO_SECRET_KEY: is the development key', {}, { ...variables, PORTICO_SECRET_KEY: base64(developmentKey()) }],
    ['SMTP_URL: must be set in production; codes are sent by mail', {}, { PORTICO_SECRET_KEY, DATABASE_URL }],
    [
      'PORTICO_SECRET_KEY: is not random; generate a key with `openssl rand -base64 32`',
      {},
      { ...variables, PORTICO_SECRET_KEY: base64(new Uint8Array(32)) },
    ],
    [
      'DATABASE_URL: must be set in production, or database.acceptEmbedded must be true (embedded store, one process)',
      {},
      { PORTICO_SECRET_KEY, SMTP_URL },
    ],
    [
      'limits.scale (PORTICO_RATE_LIMIT_SCALE): must be at most 1 in production',
      {},
      { ...variables, PORTICO_RATE_LIMIT_SCALE: '1.1' },
    ],
    [
      'limits.scale (PORTICO_RATE_LIMIT_SCALE): must be at most 1 in production',
      { limits: { scale: 1000 } },
      variables,
    ],
    [unsharedFiles, {}, { ...variables, REDIS_URL: 'rediss://redis.example' }],
    [unsharedFiles, files({ kind: 'disk', shared: false }), { ...variables, REDIS_URL: 'redis://127.0.0.1' }],
  ])('refuses with one error: %s', (error, changed, environment) => {
    expect(errorsOf({ ...settings, ...changed }, environment)).toEqual([error])
  })
})
