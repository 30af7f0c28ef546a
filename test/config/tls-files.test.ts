import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { tlsFileErrors } from '../../src/config/index.ts'
import { addMs, days, type Instant } from '../../src/kernel/index.ts'
import { systemClock } from '../../src/platform/runtime/index.ts'
import { selfSigned } from '../harness/certificate.ts'
import { loadSettings } from '../harness/settings.ts'

const folder = mkdtempSync(join(tmpdir(), 'portico-tls-files-'))
afterAll(() => rmSync(folder, { recursive: true }))

function certificateIn(name: string) {
  mkdirSync(join(folder, name))
  const { file } = selfSigned(join(folder, name), 'DNS:service')
  return { file, key: join(folder, name, 'key.pem') }
}
const [service, other] = [certificateIn('service'), certificateIn('other')]
const text = join(folder, 'text.pem')
writeFileSync(text, 'not a certificate')
const missing = join(folder, 'missing.pem')

function errorsOf(
  tls: object,
  { query = '', extra, now = systemClock.now() }: { query?: string; extra?: string; now?: Instant } = {},
): string[] {
  const file = join(folder, 'portico.yaml')
  writeFileSync(file, JSON.stringify({ backends: { transfers: { url: 'https://service', tls } } }))
  const DATABASE_URL = `postgres://db/portico?sslmode=verify-full${query}`
  return tlsFileErrors(loadSettings({ PORTICO_CONFIG: file, DATABASE_URL }), extra, now)
}
const pair = { certFile: service.file, keyFile: service.key }

test('TLS files: valid certificates and keys have no errors', () => {
  const query = `&sslrootcert=${service.file}&sslcert=${other.file}&sslkey=${other.key}`
  expect(errorsOf({ ...pair, caFile: other.file }, { query, extra: service.file })).toEqual([])
})

test.each<[string, () => string[], RegExp]>([
  [
    'a missing authority',
    () => errorsOf({ caFile: missing }),
    /^backends\.transfers\.tls\.caFile: cannot read .*ENOENT/,
  ],
  ['a text', () => errorsOf({ caFile: text }), /tls\.caFile: .*text\.pem contains no PEM certificate/],
  [
    'a key as certificate',
    () => errorsOf({ ...pair, certFile: service.key }),
    /certFile: .* contains no PEM certificate/,
  ],
  ['a certificate as key', () => errorsOf({ ...pair, keyFile: service.file }), /keyFile: .* is not a PEM private key/],
  ['another key', () => errorsOf({ ...pair, keyFile: other.key }), /keyFile: .* does not belong to the certificate in/],
  ['an expired one', () => errorsOf(pair, { now: addMs(systemClock.now(), days(3)) }), /certFile: .* expired on 20/],
  [
    'expired authorities',
    () => errorsOf({ caFile: service.file }, { now: addMs(systemClock.now(), days(3)) }),
    /caFile: .* contains only expired certificates/,
  ],
  ['a future one', () => errorsOf(pair, { now: addMs(systemClock.now(), -days(3)) }), /certFile: .* not valid yet/],
  ['sslrootcert', () => errorsOf({}, { query: `&sslrootcert=${missing}` }), /^DATABASE_URL: sslrootcert: cannot read/],
  ['sslkey', () => errorsOf({}, { query: `&sslcert=${service.file}&sslkey=${other.key}` }), /sslkey: .* not belong/],
  ['NODE_EXTRA_CA_CERTS', () => errorsOf({}, { extra: text }), /^NODE_EXTRA_CA_CERTS: .* no PEM certificate/],
])('TLS files: reports %s', (_name, errors, expected) => {
  expect(errors()).toEqual([expect.stringMatching(expected)])
})
