import { createHash, randomUUID } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { developmentIds } from '../../../src/seed/development.ts'
import { startConfigured } from '../../harness/configured.ts'
import { requiredHeaders, send } from '../../harness/http.ts'
import { pdf } from '../../harness/multipart.ts'
import { needs, needsStore } from '../../harness/needs.ts'
import { freePort } from '../../harness/postgres.ts'
import type { PorticoProcess } from '../../harness/process.ts'
import { loadSettings } from '../../harness/settings.ts'
import { outboxOf, signIn } from '../../harness/sign-in.ts'
import { createStore, type TestStore } from '../../harness/store.ts'

const megabyte = 1024 * 1024
const size = 100 * megabyte
const growth = 32 * megabyte

/** Linux reports the peak memory since its last reset. */
const canMeasure = existsSync('/proc/self/clear_refs')

function memoryOf({ child }: PorticoProcess, field: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1024
}

describe('files of 100 MB', { ...needs(canMeasure, 'requires Linux'), ...needsStore() }, () => {
  let store: TestStore
  let processes: PorticoProcess[] = []
  let url: string
  let token: string

  /** Separate processes have separate peaks. */
  beforeAll(async () => {
    store = await createStore()
    const { purposes } = loadSettings({}).files
    const files = { purposes: { ...purposes, DOCUMENT: { ...purposes.DOCUMENT, maxBytes: 2 * size } } }
    const variables = { ...store.variables, PORTICO_RATE_LIMIT_SCALE: '1000' }
    const operationsPort = await freePort()
    const backends: Record<string, unknown> = {}
    if (inject('topology') === 'distributed') {
      const assertion = { jwksUrl: `http://127.0.0.1:${operationsPort}/.well-known/jwks.json` }
      const domains = await startConfigured(variables, { files, assertion }, 'domains')
      processes.push(domains)
      backends.default = { url: domains.url, breaker: { failures: 5, openMs: 500 } }
    }
    const gateway = await startConfigured(
      { ...variables, OPS_PORT: String(operationsPort) },
      { files, ...(Object.keys(backends).length > 0 && { backends }) },
      'gateway',
    )
    processes = [gateway, ...processes]
    url = gateway.url
    const mailTo = outboxOf(gateway)
    token = (await signIn({ call: (method, path, call) => send(url, method, path, call), mailTo })).accessToken
  })
  afterAll(async () => {
    for (const each of processes) await each.stop()
    await store?.remove()
  })

  const headers = () => ({
    ...requiredHeaders(),
    authorization: `Bearer ${token}`,
    'x-workspace-id': developmentIds.workspace,
  })

  /** The form is generated while it is sent. */
  const upload = async (bytes: number) => {
    const boundary = `b${randomUUID()}`
    const part = (fields: string) => Buffer.from(`--${boundary}\r\ncontent-disposition: form-data; ${fields}\r\n\r\n`)
    const hash = createHash('sha256')
    async function* form(): AsyncGenerator<Uint8Array> {
      yield part('name="purpose"')
      yield Buffer.from('DOCUMENT\r\n')
      yield part('name="file"; filename="large.pdf"\r\ncontent-type: application/pdf')
      const first = pdf(megabyte)
      for (let sent = 0; sent < bytes; sent += megabyte) {
        const chunk = sent === 0 ? first : Buffer.alloc(megabyte, sent / megabyte)
        hash.update(chunk)
        yield chunk
      }
      yield Buffer.from(`\r\n--${boundary}--\r\n`)
    }
    const { statusCode, body } = await request(`${url}/web/v1/consumer/files/upload`, {
      method: 'POST',
      headers: { ...headers(), 'content-type': `multipart/form-data; boundary=${boundary}` },
      body: Readable.from(form(), { objectMode: false }),
    })
    const text = await body.text()
    expect(statusCode, text).toBe(200)
    const { data } = JSON.parse(text)
    expect(data).toMatchObject({ sizeBytes: bytes, sha256: hash.digest('hex') })
    return data
  }

  const download = async (id: string): Promise<{ size: number; sha256: string }> => {
    const response = await fetch(`${url}/web/v1/consumer/files/${id}/download`, { headers: headers() })
    expect(response.status).toBe(200)
    const hash = createHash('sha256')
    let received = 0
    for await (const chunk of response.body ?? []) {
      hash.update(chunk)
      received += chunk.length
    }
    return { size: received, sha256: hash.digest('hex') }
  }

  /** Measures the peak memory of each process. */
  const growthsOf = async (work: () => Promise<unknown>): Promise<number[]> => {
    const before = processes.map((each) => {
      writeFileSync(`/proc/${each.child.pid}/clear_refs`, '5')
      return memoryOf(each, 'VmRSS')
    })
    await work()
    return processes.map((each, index) => memoryOf(each, 'VmHWM') - (before[index] ?? 0))
  }

  test('files.upload 200 and files.download 200: memory grows by less than 32 MB', async () => {
    const small = await upload(8 * megabyte)
    await download(small.bizId)
    let file = small
    const up = await growthsOf(async () => {
      file = await upload(size)
    })
    const down = await growthsOf(async () => {
      expect(await download(file.bizId)).toEqual({ size, sha256: file.sha256 })
    })
    for (const each of [...up, ...down]) expect(each, `${up} ${down}`).toBeLessThan(growth)
  })
})
