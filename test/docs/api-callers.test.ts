import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { request as sendByTls } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createCertificateReader } from '../../src/gateway/index.ts'
import { Headers } from '../../src/gateway/pipeline/headers.ts'
import { createMemoryCache } from '../../src/platform/cache/index.ts'
import { RequestProofs } from '../../src/platform/proofs/index.ts'
import { systemClock } from '../../src/platform/runtime/index.ts'
import { selfSigned } from '../harness/certificate.ts'
import { haproxyIsInstalled, startHaproxy } from '../harness/haproxy.ts'
import { needs } from '../harness/needs.ts'
import { nginxIsInstalled, startNginx } from '../harness/nginx.ts'
import { freePort } from '../harness/postgres.ts'
import { root, testSettings } from '../harness/settings.ts'

const run = promisify(execFile)
const guide = readFileSync(join(root, 'docs/guides/api-callers.md'), 'utf8')

function blocks(language: string): string[] {
  return [...guide.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(([, text = '']) => text)
}

test('the openssl commands of the guide sign a valid assertion of the printed key', async () => {
  const [create = '', sign = ''] = blocks('sh')
  const folder = mkdtempSync(join(tmpdir(), 'portico-openssl-'))
  const script = (text: string) => text.replaceAll('/tmp/', `${folder}/`)
  const publicKey = JSON.parse((await run('bash', ['-ec', script(create)])).stdout)
  const assertion = (await run('bash', ['-ec', script(sign)])).stdout
  const request = { method: 'GET', path: '/api/v1/consumer/wallets', baseUrls: ['https://portal.example.com'] }
  const received = { ...request, receivedAt: systemClock.now(), isRepeated: false }
  const proofs = new RequestProofs(createMemoryCache(systemClock, 10))
  const key = { prefix: 'ptk_0123456789ab', publicKey }
  expect(await proofs.verifyAssertion(assertion, key, { ...received, method: 'POST' })).toBeDefined()
  expect(await proofs.verifyAssertion(assertion, key, received)).toBeUndefined()
})

describe('the edges of the guide pass on the client certificate', () => {
  const folder = mkdtempSync(join(tmpdir(), 'portico-client-'))
  const own = selfSigned(folder, 'DNS:client')
  const edge = selfSigned(mkdtempSync(join(tmpdir(), 'portico-edge-')), 'IP:127.0.0.1')
  let thumbprint = ''
  let behind: Server
  let port = 0
  beforeAll(async () => {
    const [, command = ''] = /^(openssl x509 .*)$/m.exec(guide) ?? []
    thumbprint = (await run('bash', ['-ec', command.replace('client.pem', own.file)])).stdout.trim()
    behind = createServer((request, response) => {
      response.end(JSON.stringify({ rfc9440: read(request, 'rfc9440'), pem: read(request, 'pem') }))
    })
    behind.listen(0, '127.0.0.1')
    await once(behind, 'listening')
    const address = behind.address()
    port = typeof address === 'object' && address ? address.port : expect.fail()
  })
  afterAll(() => behind?.close())

  function read(received: IncomingMessage, format: 'rfc9440' | 'pem'): string | null {
    const { portals } = testSettings({})
    portals.CONSUMER.edge.clientCertificate = { header: 'client-cert', format }
    return createCertificateReader(portals)({ headers: new Headers(received), edgeTrusted: true }, 'CONSUMER')
  }
  async function call(
    to: number,
    client: { cert?: Buffer; key?: Buffer },
    headers: Record<string, string | string[]> = {},
  ) {
    const sent = sendByTls({ host: '127.0.0.1', port: to, rejectUnauthorized: false, headers, agent: false, ...client })
    sent.end()
    const [response]: IncomingMessage[] = await once(sent, 'response')
    const chunks = (await response?.toArray()) ?? []
    return JSON.parse(Buffer.concat(chunks).toString())
  }
  async function expectPassedOn(to: number, format: 'rfc9440' | 'pem') {
    const forged = {
      rfc9440: `:${Buffer.from('forged').toString('base64')}:`,
      pem: encodeURIComponent(own.cert.toString()),
    }
    const withCertificate = { cert: own.cert, key: own.key }
    expect((await call(to, withCertificate))[format]).toBe(thumbprint)
    expect((await call(to, {}))[format]).toBeNull()
    for (const names of ['client-cert', 'Client-Cert']) {
      expect((await call(to, {}, { [names]: forged[format] }))[format], 'a header of the client').toBeNull()
      const twice = { [names]: [forged[format], forged[format]] }
      expect((await call(to, withCertificate, twice))[format], 'headers of the client').toBe(thumbprint)
    }
  }

  test('HAProxy', needs(haproxyIsInstalled(), 'HAProxy is not installed'), async () => {
    const pem = join(folder, 'edge.pem')
    writeFileSync(pem, Buffer.concat([edge.cert, edge.key]))
    const tlsPort = await freePort()
    const [frontend = ''] = blocks('haproxy')
    const lines = frontend
      .replace('frontend portal', 'frontend tls')
      .replace(':443', `127.0.0.1:${tlsPort}`)
      .replace('/etc/ssl/portal.pem', pem)
      .replace('/etc/ssl/clients.pem', own.file)
    const haproxy = await startHaproxy([`server a 127.0.0.1:${port}`, ...lines.split('\n'), 'default_backend portico'])
    try {
      await expectPassedOn(tlsPort, 'rfc9440')
    } finally {
      await haproxy.stop()
    }
  })

  test('nginx', needs(nginxIsInstalled(), 'nginx is not installed'), async () => {
    const key = join(folder, 'edge.key')
    writeFileSync(key, edge.key)
    const tlsPort = await freePort()
    const [directives = ''] = blocks('nginx')
    const nginx = await startNginx(
      { '/': `http://127.0.0.1:${port}` },
      `server {
        listen 127.0.0.1:${tlsPort} ssl;
        ssl_certificate ${edge.file};
        ssl_certificate_key ${key};
        ${directives}
        location / { proxy_pass http://127.0.0.1:${port}; }
      }`,
    )
    try {
      await expectPassedOn(tlsPort, 'pem')
    } finally {
      await nginx.stop()
    }
  })
})
