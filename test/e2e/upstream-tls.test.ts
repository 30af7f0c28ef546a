import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createSecureServer, type Http2SecureServer } from 'node:http2'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../src/seed/development.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { upstreamAt } from '../harness/settings.ts'
import { signIn } from '../harness/sign-in.ts'

const timezone = { code: 'UTC', label: 'UTC', zoneIdCode: 'Etc/UTC', utcOffset: 'UTC+0', value: 1 }

/** Requires a client certificate of its authority (mTLS). */
describe('an upstream over mutual TLS', () => {
  const folder = mkdtempSync(join(tmpdir(), 'portico-tls-'))
  const file = (name: string) => join(folder, name)
  let upstream: Http2SecureServer
  let url = ''
  const seen: string[] = []

  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'ignore' })
  const authority = () =>
    openssl(
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-days',
      '2',
      '-subj',
      '/CN=test-ca',
      '-keyout',
      file('ca.key'),
      '-out',
      file('ca.pem'),
    )
  const certificate = (name: string) => {
    openssl(
      'req',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-subj',
      `/CN=${name}`,
      '-addext',
      'subjectAltName=IP:127.0.0.1',
      '-keyout',
      file(`${name}.key`),
      '-out',
      file(`${name}.csr`),
    )
    openssl(
      'x509',
      '-req',
      '-in',
      file(`${name}.csr`),
      '-CA',
      file('ca.pem'),
      '-CAkey',
      file('ca.key'),
      '-days',
      '2',
      '-copy_extensions',
      'copy',
      '-out',
      file(`${name}.pem`),
    )
  }

  beforeAll(async () => {
    authority()
    certificate('upstream')
    certificate('gateway')
    // The server prefers HTTP/2.
    upstream = createSecureServer(
      {
        allowHTTP1: true,
        key: readFileSync(file('upstream.key')),
        cert: readFileSync(file('upstream.pem')),
        ca: readFileSync(file('ca.pem')),
        requestCert: true,
        rejectUnauthorized: true,
      },
      (request, response) => {
        const socket = request.socket as TLSSocket
        seen.push(`${socket.getPeerCertificate().subject.CN}, HTTP/${request.httpVersion}`)
        // An unasked interim response.
        response.writeContinue()
        if (request.url?.endsWith('/download')) response.writeHead(200, { 'content-length': 3 }).end('abc')
        else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify([timezone]))
      },
    )
    upstream.on('tlsClientError', () => undefined)
    upstream.listen(0, '127.0.0.1')
    await once(upstream, 'listening')
    const address = upstream.address()
    url = `https://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`
  })
  afterAll(() => {
    upstream?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  /** A buffered and a streamed call use separate connections. */
  const through = async (tls: object, at = url): Promise<{ portico: Portico; statuses: number[] }> => {
    const place = upstreamAt(at, { tls, breaker: { failures: 50, openMs: 100 } })
    const portico = await startPortico({
      adjust: (settings) => {
        settings.backends = { constants: place, files: place }
      },
    })
    portico.expectFault(({ status }) => Number(status) >= 502)
    const { accessToken: token } = await signIn(portico)
    const { workspace } = developmentIds
    const read = await portico.call('GET', '/web/v1/consumer/constants/timezones')
    const file = await portico.call('GET', `/web/v1/consumer/files/${workspace}/download`, { token, workspace })
    return { portico, statuses: [read.status, file.status] }
  }

  test.each(['https:', 'HTTPS:'])(
    'constants.timezones 200 and files.download 200 over %s// with a client certificate, in HTTP/1.1',
    async (scheme) => {
      const tls = { caFile: file('ca.pem'), certFile: file('gateway.pem'), keyFile: file('gateway.key') }
      const { portico, statuses } = await through(tls, url.replace('https:', scheme))
      expect(statuses).toEqual([200, 200])
      expect(seen.splice(0)).toEqual(['gateway, HTTP/1.1', 'gateway, HTTP/1.1'])
      await portico.stop()
    },
  )

  test("both 502 without a client certificate, or when the upstream's certificate is not trusted", async () => {
    const bare = await through({ caFile: file('ca.pem') })
    expect(bare.statuses).toEqual([502, 502])
    await bare.portico.stop()
    const distrusted = await through({ certFile: file('gateway.pem'), keyFile: file('gateway.key') })
    expect(distrusted.statuses).toEqual([502, 502])
    await distrusted.portico.stop()
  })

  test('start fails for a missing file or an invalid certificate, and names it', async () => {
    await expect(through({ caFile: file('nowhere.pem') })).rejects.toThrow(
      `backends: tls.caFile of ${url} cannot be read`,
    )
    const noCertificate = { certFile: file('gateway.csr'), keyFile: file('gateway.key') }
    const empty = { caFile: file('empty.pem') }
    writeFileSync(empty.caFile, '')
    for (const tls of [noCertificate, empty])
      await expect(through(tls)).rejects.toThrow(`backends: the tls files of ${url} cannot be used`)
  })
})
