import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createSecureServer, type Http2SecureServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fetchText, parseJson } from '../../src/platform/http-client.ts'
import { startRelay } from '../harness/relay.ts'

const folder = mkdtempSync(join(tmpdir(), 'portico-http-client-'))
const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
const trusted = getCACertificates('default')
const versions: string[] = []
let service: Http2SecureServer

beforeAll(async () => {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', keyFile]
  const name = ['-subj', '/CN=service', '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '2', '-out', certFile]
  execFileSync('openssl', ['req', '-x509', ...key, ...name], { stdio: 'ignore' })
  const cert = readFileSync(certFile, 'utf8')
  setDefaultCACertificates([...trusted, cert])
  // The service prefers HTTP/2.
  service = createSecureServer({ allowHTTP1: true, key: readFileSync(keyFile), cert }, (request, response) => {
    versions.push(request.httpVersion)
    response.end('response')
  })
  await once(service.listen(0, '127.0.0.1'), 'listening')
})
afterAll(() => {
  setDefaultCACertificates(trusted)
  service.close()
  rmSync(folder, { recursive: true })
})

test('fetchText: replaces a connection that has become silent', async () => {
  const relay = await startRelay((service.address() as AddressInfo).port)
  const options = { timeoutMs: 1_000, maxBytes: 100 }
  const url = `https://127.0.0.1:${relay.port}/`
  expect(await fetchText(url, { ...options, timeoutMs: 20_000 })).toMatchObject({
    status: 200,
    ok: true,
    text: 'response',
  })
  // Wait until the connection can be reused.
  await pause(200)
  relay.silence()
  await expect(fetchText(url, options)).rejects.toMatchObject({ name: 'TimeoutError' })
  expect(await fetchText(url, { ...options, timeoutMs: 20_000 })).toMatchObject({ text: 'response' })
  expect(versions).toEqual(['1.1', '1.1'])
  relay.cut()
  await relay.close()
})

test('parseJson: ignores a byte-order mark, and quotes nothing of an invalid text', () => {
  expect(parseJson('\ufeff{"a":1}')).toEqual({ a: 1 })
  expect(() => parseJson('\ufeff\ufeffsecret')).toThrow('the response is not valid JSON')
})
