import { connect, type Socket } from 'node:net'
import { expect } from 'vitest'
import type { UpstreamConfiguration } from '../../src/config/index.ts'
import { developmentIds } from '../../src/seed/development.ts'
import { createMovableDurations } from '../harness/durations.ts'
import { requiredHeaders } from '../harness/http.ts'
import { encodeMultipart, pdf } from '../harness/multipart.ts'
import { startPortico } from '../harness/portico.ts'
import { type Behaviour, startRawUpstream } from '../harness/raw-upstream.ts'
import { signIn } from '../harness/sign-in.ts'

const { workspace } = developmentIds

/** Time until a download without a reader is aborted. */
export const stallMs = 3_000
/** Long enough for a slow machine. Requests that must time out use less. */
const deadlineMs = 20_000
export const soonMs = 700
export const secret = 'stack trace of the upstream'
export const file = {
  bizId: '01990000-0000-7000-8000-00000000f11e',
  fileName: 'a.pdf',
  contentType: 'application/pdf',
  sizeBytes: 3,
  sha256: 'ab',
  purpose: { code: 'DOCUMENT', value: 1, label: '', description: '' },
  fileStatus: { code: 'AVAILABLE', value: 1, label: '', description: '' },
  createdAt: '2026-01-01T00:00:00.000Z',
}

/** Each test controls the upstream of the file domain. */
export async function startStreamsWorld() {
  let behave: Behaviour = () => undefined
  const upstream = await startRawUpstream((socket, request) => behave(socket, request))
  let before = 0

  const configuration = (): UpstreamConfiguration => ({
    url: `${upstream.url}/base`,
    audience: 'upstream-under-test',
    timeoutMs: deadlineMs,
    maxReplyBytes: 100_000,
    streamTimeoutMs: deadlineMs,
    maxStreamBytes: 1_000_000,
    acceptPlain: false,
    connections: 8,
    concurrency: 8,
    queue: 8,
    breaker: { failures: 1_000, openMs: 200 },
  })

  const durations = createMovableDurations()
  const portico = await startPortico({
    durations,
    adjust: (settings) => {
      settings.backends = { ...settings.backends, files: configuration() }
      settings.requests.downloadStallMs = stallMs
    },
  })
  portico.expectFault(({ operation }) => /^files\./.test(String(operation)))
  const session = await signIn(portico)

  const headers = () => ({
    ...requiredHeaders(),
    authorization: `Bearer ${session.accessToken}`,
    'x-workspace-id': workspace,
  })
  const download = (extra: Record<string, string> = {}, method = 'GET') => {
    const url = `${portico.url}/web/v1/consumer/files/${file.bizId}/download`
    return fetch(url, { method, headers: { ...headers(), ...extra } })
  }
  const upload = (extra: Record<string, string> = {}) => {
    const form = encodeMultipart([
      { name: 'file', content: pdf(), fileName: 'a.pdf', type: 'application/pdf' },
      { name: 'purpose', content: 'DOCUMENT' },
    ])
    return portico.call('POST', '/web/v1/consumer/files/upload', {
      token: session.accessToken,
      workspace,
      headers: { ...form.headers, ...extra },
      body: form.body,
    })
  }
  const read = async () => {
    const call = { token: session.accessToken, workspace }
    const { status, body } = await portico.call('GET', `/web/v1/consumer/files/${file.bizId}`, call)
    return [status, body.code]
  }

  /** The test decides when to read the response. */
  const begin = (line: string, extra: Record<string, string>, body = ''): Socket => {
    const { hostname, port } = new URL(portico.url)
    const socket = connect(Number(port), hostname)
    const head = Object.entries({ ...headers(), host: hostname, ...extra }).map(
      ([name, value]) => `${name}: ${value}\r\n`,
    )
    socket.on('error', () => undefined)
    socket.write(`${line} HTTP/1.1\r\n${head.join('')}\r\n${body}`)
    return socket
  }
  const beginUpload = (): Socket => {
    const form = { 'content-type': 'multipart/form-data; boundary=b', 'content-length': '99999' }
    return begin('POST /web/v1/consumer/files/upload', form, '--b\r\n')
  }
  const beginDownload = (requestId: string): Socket =>
    begin(`GET /web/v1/consumer/files/${file.bizId}/download`, { 'x-request-id': requestId }).pause()

  return {
    durations,
    portico,
    session,
    upstream,
    configuration,
    setBehavior: (behavior: Behaviour): void => {
      behave = behavior
    },
    respondWith: (text: string): void => {
      behave = (socket) => void socket.write(text)
    },
    resetTries: (): void => {
      before = upstream.requests()
    },
    tries: (): number => upstream.requests() - before,
    download,
    upload,
    read,
    beginUpload,
    beginDownload,
    replaceFiles: (changes: Partial<UpstreamConfiguration>) => {
      const { running, settings } = portico
      const files = { ...configuration(), ...changes }
      return running.reload({ ...settings, backends: { ...settings.backends, files } })
    },
    stop: async (): Promise<void> => {
      await portico.stop()
      await upstream.close()
    },
  }
}

export type StreamsWorld = Awaited<ReturnType<typeof startStreamsWorld>>

export async function codeOf(response: Response): Promise<[status: number, code: unknown]> {
  const text = await response.text()
  expect(text).not.toContain(secret)
  return [response.status, JSON.parse(text).code]
}
