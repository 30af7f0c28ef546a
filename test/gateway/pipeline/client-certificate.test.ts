import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createCertificateReader } from '../../../src/gateway/index.ts'
import { Headers } from '../../../src/gateway/pipeline/headers.ts'
import { selfSigned } from '../../harness/certificate.ts'
import { testSettings } from '../../harness/settings.ts'

const { cert, file } = selfSigned(mkdtempSync(join(tmpdir(), 'portico-certificate-')), 'DNS:client')
const certificate = new X509Certificate(cert)
const hex = certificate.fingerprint256.replaceAll(':', '').toLowerCase()
const thumbprint = Buffer.from(hex, 'hex').toString('base64url')
const pem = encodeURIComponent(cert.toString())
const header = 'x-client-cert'

type Format = 'rfc9440' | 'pem' | 'xfcc' | 'sha256Hex'

function read(format: Format, values: string[], edgeTrusted = true) {
  const { portals } = testSettings({})
  portals.CONSUMER.edge.clientCertificate = { header, format }
  const rawHeaders = values.flatMap((value) => [header, value])
  const headers = new Headers({ headers: values.length === 0 ? {} : { [header]: values.join(', ') }, rawHeaders })
  return createCertificateReader(portals)({ headers, edgeTrusted }, 'CONSUMER')
}

const valid: [Format, string][] = [
  ['sha256Hex', hex],
  ['sha256Hex', hex.toUpperCase()],
  ['rfc9440', `:${certificate.raw.toString('base64')}:`],
  ['pem', pem],
  ['xfcc', `Hash=${hex}`],
  ['xfcc', `By=spiffe://a;Hash=${hex};Subject="CN=a, b;Hash=\\"c\\"";URI=spiffe://b`],
]

describe('the client certificate in a header of the edge', () => {
  test('has the thumbprint that openssl prints', () => {
    const der = execFileSync('openssl', ['x509', '-in', file, '-outform', 'DER'])
    const digest = execFileSync('openssl', ['dgst', '-sha256', '-binary'], { input: der })
    expect(digest.toString('base64url')).toBe(thumbprint)
  })

  test.each(valid)('%s: %s', (format, value) => {
    expect(read(format, [value])).toBe(thumbprint)
    expect(read(format, [value], false), 'from an untrusted peer').toBeNull()
    expect(read(format, [value, value]), 'twice').toBeNull()
  })

  test.each<[Format, string]>([
    ['sha256Hex', `${hex}00`],
    ['sha256Hex', `${hex},${hex}`],
    ['rfc9440', certificate.raw.toString('base64')],
    ['rfc9440', '::'],
    ['pem', ''],
    ['pem', '%'],
    ['pem', `${pem}${pem}`],
    ['xfcc', 'By=spiffe://a'],
    ['xfcc', `Hash=${hex},Hash=${'0'.repeat(64)}`],
    ['xfcc', `Hash=${hex};Hash=${'0'.repeat(64)}`],
    ['xfcc', `Subject="CN=a;Hash=${hex}"`],
    ['xfcc', `Subject="CN=a;Hash=${hex}`],
    ['xfcc', `Subject="CN=\\";Hash=${hex};A=\\"b"`],
  ])('%s: null for %s', (format, value) => {
    expect(read(format, [value])).toBeNull()
  })

  test('null without the setting, and without the header', () => {
    const { portals } = testSettings({})
    const headers = new Headers({ headers: { [header]: hex }, rawHeaders: [header, hex] })
    expect(createCertificateReader(portals)({ headers, edgeTrusted: true }, 'CONSUMER')).toBeNull()
    expect(read('sha256Hex', [])).toBeNull()
  })
})
