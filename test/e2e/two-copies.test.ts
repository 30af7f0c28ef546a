import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startConfigured } from '../harness/configured.ts'
import { send } from '../harness/http.ts'
import type { PorticoProcess } from '../harness/process.ts'
import { root } from '../harness/settings.ts'
import { createStore, type TestStore } from '../harness/store.ts'

/** Imports the sources, while the process runs the build: like two installations of the package. */
const source = `
  import { domain, Refusal } from '${root}src/api/index.ts'
  import { anonymous, id, operation, z } from '${root}src/api/contract.ts'
  import * as running from 'portico'
  const base = { method: 'POST', chains: ['consumer'], summary: 'Copy', policy: anonymous }
  const operations = {
    copyText: operation({ ...base, id: 'copies.text', path: '/copies', refuses: ['RESOURCE.NOT_FOUND'],
      body: z.strictObject({ text: z.string().max(5), id: id.optional() }),
      reply: z.object({ text: z.string(), isCopy: z.boolean() }) }),
    copyWrongly: operation({ ...base, id: 'copies.wrongly', path: '/copies/wrongly', refuses: [],
      body: 'none', reply: z.object({ text: z.string() }) }),
  }
  export default domain({ name: 'copies', summary: 'Copies.', operations,
    create: () => ({ handlers: {
      copyText: async ({ body }) => {
        if (body.text === 'gone') throw new Refusal('RESOURCE.NOT_FOUND', { internal: 'by the copy' })
        return { text: body.text, isCopy: Refusal !== running.Refusal }
      },
      copyWrongly: async () => ({ text: 1 }),
    } }) })`

describe('two copies of the package in one process', () => {
  let folder: string
  let store: TestStore
  let gateway: PorticoProcess
  const copy = (body: object) => send(gateway.url, 'POST', '/web/v1/consumer/copies', { body })

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'portico-copies-'))
    const file = join(folder, 'index.js')
    await writeFile(file, source)
    store = await createStore()
    gateway = await startConfigured(store.variables, { extensions: [file] })
  })
  afterAll(async () => {
    await gateway?.stop()
    await store?.remove()
    await rm(folder, { recursive: true, force: true })
  })

  test('404 RESOURCE.NOT_FOUND: a refusal of the other copy keeps its code and its internal detail', async () => {
    const refused = await copy({ text: 'gone' })
    expect([refused.status, refused.body.code]).toEqual([404, 'RESOURCE.NOT_FOUND'])
    await expect.poll(() => gateway.output()).toContain('by the copy')
  })

  test('200: operations and schemas of the other copy are valid', async () => {
    const reply = await copy({ text: 'hi' })
    expect(reply.status, reply.text).toBe(200)
    expect(reply.body.data).toEqual({ text: 'hi', isCopy: true })
    const document = await (await fetch(`${gateway.url}/openapi.json`)).json()
    expect(document.paths['/web/v1/consumer/copies'].post.summary).toBe('Copy')
  })

  test.each([{ text: 'too long' }, { text: 'hi', extra: true }, { text: 'hi', id: 'no id' }])(
    '400 VALIDATION.INVALID_PARAMETER: the schema of the other copy rejects %j',
    async (body) => {
      const refused = await copy(body)
      expect([refused.status, refused.body.code]).toEqual([400, 'VALIDATION.INVALID_PARAMETER'])
    },
  )

  test('500 SYSTEM.INTERNAL_ERROR: a reply that does not match the schema of the other copy', async () => {
    const failed = await send(gateway.url, 'POST', '/web/v1/consumer/copies/wrongly')
    expect([failed.status, failed.body.code]).toEqual([500, 'SYSTEM.INTERNAL_ERROR'])
  })
})
