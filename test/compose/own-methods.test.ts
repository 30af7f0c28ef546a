import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { domain } from '../../src/api/domain.ts'
import { bankingDomains } from '../../src/banking/index.ts'
import { id, text } from '../../src/contract/fields.ts'
import { member } from '../../src/contract/policies.ts'
import { checkDomain } from '../../src/extensions/check.ts'
import { notFound, type Operation, operation } from '../../src/kernel/index.ts'
import { auditContextOf, recordSuccess } from '../../src/platform/audit/index.ts'
import { download, readForm, storeContent } from '../../src/platform/blobs/index.ts'
import { developmentIds } from '../../src/seed/development.ts'
import { promises, type Samples, startPortico, type TestPortico } from '../../src/testing/index.ts'

const Note = z.object({ bizId: id, text: z.string() })
const inWorkspace = { ...member, workspace: 'required', permission: 'transfer:create' } as const
const shared = { chains: ['consumer', 'api'], refuses: ['RESOURCE.NOT_FOUND'] } as const

const contract = {
  createNote: operation({
    ...shared,
    id: 'memos.create',
    method: 'POST',
    path: '/memos',
    summary: 'Create a memo',
    policy: { ...inWorkspace, idempotent: true },
    body: z.strictObject({ text: text(100) }),
    reply: Note,
  }),
  replaceNote: operation({
    ...shared,
    id: 'memos.replace',
    method: 'PUT',
    path: '/memos/{memo_id}',
    summary: 'Replace a memo',
    description: 'A memo has no *history*.',
    examples: { params: { memo_id: '01990000-0000-7000-8000-0000000000ab' }, body: { text: 'Call Ada' } },
    policy: { ...inWorkspace, idempotent: true },
    body: z.strictObject({ text: text(100) }),
    reply: Note,
  }),
  changeNote: operation({
    ...shared,
    id: 'memos.change',
    method: 'PATCH',
    path: '/memos/{memo_id}',
    summary: 'Change a memo',
    policy: { ...inWorkspace, idempotent: true },
    body: z.strictObject({ text: text(100) }),
    reply: Note,
  }),
  removeNote: operation({
    ...shared,
    id: 'memos.remove',
    method: 'DELETE',
    path: '/memos/{memo_id}',
    summary: 'Remove a memo',
    policy: { ...inWorkspace, idempotent: true },
    body: 'none',
    reply: Note,
  }),
  readNote: operation({
    ...shared,
    id: 'memos.read',
    method: 'GET',
    path: '/memos/{memo_id}',
    summary: 'Read a memo',
    policy: { ...inWorkspace, permission: 'wallet:read' },
    body: 'none',
    reply: Note,
  }),
  uploadScan: operation({
    ...shared,
    id: 'memos.upload',
    method: 'PUT',
    path: '/memos/{memo_id}/scan',
    summary: 'Upload the scan of a memo',
    policy: inWorkspace,
    body: 'multipart',
    reply: z.object({ fileName: z.string(), sizeBytes: z.int() }),
    refuses: ['RESOURCE.NOT_FOUND', 'REQUEST.TOO_LARGE'],
  }),
  downloadScan: operation({
    ...shared,
    id: 'memos.download',
    method: 'GET',
    path: '/memos/{memo_id}/scan',
    summary: 'Download the scan of a memo',
    policy: { ...inWorkspace, permission: 'wallet:read' },
    body: 'none',
    reply: 'stream',
    refuses: ['RESOURCE.NOT_FOUND', 'FILE.RANGE_NOT_SATISFIABLE'],
  }),
}

interface Row {
  bizId: string
  text: string
}
function toView(row: Row | undefined) {
  if (!row) throw notFound()
  return { bizId: row.bizId, text: row.text }
}

const memos = domain({
  name: 'memos',
  summary: 'Memos.',
  operations: contract,
  migrations: [
    {
      name: '001-memos',
      up: async (tx) => {
        await sql`CREATE TABLE memos (workspace_biz_id uuid, biz_id uuid, text text, PRIMARY KEY (workspace_biz_id, biz_id))`.execute(
          tx,
        )
      },
    },
  ],
  needs: ['database', 'blobs', 'ids', 'once', 'transaction'],
  create: ({ database, blobs, ids, once, transaction }) => {
    const scans = new Map<string, Awaited<ReturnType<typeof storeContent>>>()
    return {
      handlers: {
        createNote: (request) =>
          once(request, async (tx) => {
            const { body, workspace } = request
            const { rows } = await sql<Row>`INSERT INTO memos VALUES (${workspace.id}, ${ids.next()}, ${body.text})
              RETURNING biz_id, text`.execute(tx)
            return toView(rows[0])
          }),
        replaceNote: (request) =>
          once(request, async (tx) => {
            const { body, params, workspace } = request
            const { rows } = await sql<Row>`UPDATE memos SET text = ${body.text}
              WHERE workspace_biz_id = ${workspace.id} AND biz_id = ${params.memo_id} RETURNING biz_id, text`.execute(
              tx,
            )
            return toView(rows[0])
          }),
        changeNote: (request) =>
          once(request, async (tx) => {
            const { body, params, workspace } = request
            const { rows } = await sql<Row>`UPDATE memos SET text = ${body.text}
              WHERE workspace_biz_id = ${workspace.id} AND biz_id = ${params.memo_id} RETURNING biz_id, text`.execute(
              tx,
            )
            return toView(rows[0])
          }),
        removeNote: (request) =>
          once(request, async (tx) => {
            const { params, workspace } = request
            const { rows } = await sql<Row>`DELETE FROM memos
              WHERE workspace_biz_id = ${workspace.id} AND biz_id = ${params.memo_id} RETURNING biz_id, text`.execute(
              tx,
            )
            return toView(rows[0])
          }),
        readNote: async ({ params, workspace }) => {
          const { rows } = await sql<Row>`SELECT biz_id, text FROM memos
            WHERE workspace_biz_id = ${workspace.id} AND biz_id = ${params.memo_id}`.execute(database)
          return toView(rows[0])
        },
        uploadScan: async (request) => {
          const { params, upload, workspace } = request
          const maxBytes = 1_000
          const { received } = await readForm(upload, { maxBytes, fields: [] }, (part) =>
            storeContent(blobs, `scans/${params.memo_id}`, part, maxBytes),
          )
          await transaction((tx) =>
            recordSuccess(tx, auditContextOf(request), { workspaceId: workspace.id, targetId: params.memo_id }),
          )
          scans.set(workspace.id + params.memo_id, received)
          return { fileName: received.fileName, sizeBytes: received.sizeBytes }
        },
        downloadScan: async (request) => {
          const found = scans.get(request.workspace.id + request.params.memo_id)
          if (!found) throw notFound()
          return download(blobs, { ...found, key: found.blobKey }, request)
        },
      },
      onSandboxReset: async (tx, { workspaceId }) => {
        await sql`DELETE FROM memos WHERE workspace_biz_id = ${workspaceId}`.execute(tx)
      },
    }
  },
})

const body = { text: 'Call Ada' }
async function created(place: Parameters<NonNullable<Samples[string]>>[0]) {
  const { bizId } = await place.run(contract.createNote, { body })
  return { memo_id: bizId }
}
const samples: Samples = {
  'memos.create': () => ({ body }),
  'memos.replace': async (place) => ({ params: await created(place), body }),
  'memos.change': async (place) => ({ params: await created(place), body }),
  'memos.remove': async (place) => ({ params: await created(place) }),
  'memos.read': async (place) => ({ params: await created(place) }),
  'memos.download': async (place) => ({ params: await created(place) }),
}
promises([memos], { describe, test, beforeAll, afterAll, expect }, { samples })

describe('operations of an own domain', () => {
  let portico: TestPortico<[typeof contract]>
  beforeAll(async () => {
    portico = await startPortico({ domains: [...bankingDomains, memos], contract: [contract] })
  })
  afterAll(() => portico?.stop())
  const workspaceId = developmentIds.workspace
  const params = { memo_id: '01990000-0000-7000-8000-0000000000ab' }

  test('can be PUT, PATCH and DELETE, also in the typed client', async () => {
    const owner = await portico.signInConsumer('owner@demo.test')
    const { bizId } = await owner.createNote({ workspaceId, body })
    const params = { memo_id: bizId }
    expect(await owner.replaceNote({ workspaceId, params, body: { text: 'Call Alan' } })).toMatchObject({
      text: 'Call Alan',
    })
    expect(await owner.changeNote({ workspaceId, params, body: { text: 'Call Grace' } })).toMatchObject({
      text: 'Call Grace',
    })
    expect(await owner.readNote({ workspaceId, params })).toMatchObject({ text: 'Call Grace' })
    await owner.removeNote({ workspaceId, params })
    await expect(owner.readNote({ workspaceId, params })).rejects.toMatchObject({ code: 'RESOURCE.NOT_FOUND' })
    const allowed = await fetch(`${portico.url}/web/v1/consumer/memos/${params.memo_id}`, { method: 'POST' })
    expect([allowed.status, allowed.headers.get('allow')]).toEqual([405, 'GET, HEAD, PUT, PATCH, DELETE'])
  })

  test('can receive a form and send bytes, also a part of them', async () => {
    const owner = await portico.signInConsumer('owner@demo.test')
    const form = new FormData()
    form.append('file', new Blob(['plain text'], { type: 'text/plain' }), 'scan.txt')
    const uploaded = await owner.uploadScan({ workspaceId, params, body: form })
    expect(uploaded).toEqual({ fileName: 'scan.txt', sizeBytes: 10 })
    const response = await owner.downloadScan({ workspaceId, params })
    expect([response.headers.get('etag'), await response.text()]).toEqual([
      `"${createHash('sha256').update('plain text').digest('hex')}"`,
      'plain text',
    ])
    const large = new FormData()
    large.append('file', new Blob(['x'.repeat(1_001)], { type: 'text/plain' }), 'scan.txt')
    await expect(owner.uploadScan({ workspaceId, params, body: large })).rejects.toMatchObject({
      code: 'REQUEST.TOO_LARGE',
    })
  })

  test('have their description and examples in the OpenAPI document', async () => {
    const { paths } = await (await fetch(`${portico.url}/openapi.json`)).json()
    const { put, delete: remove } = paths['/web/v1/consumer/memos/{memo_id}']
    expect(put.description).toMatch(/^A memo has no \*history\*\.\n\nRequires the permission/)
    expect(JSON.stringify(put.requestBody)).toContain('{"value":{"text":"Call Ada"}}')
    expect(JSON.stringify(put.parameters)).toContain(params.memo_id)
    expect(remove.requestBody).toBeUndefined()
    const { content } = paths['/web/v1/consumer/memos/{memo_id}/scan'].put.requestBody
    expect(JSON.stringify(content['multipart/form-data'])).not.toContain('UploadForm')
  })
})

const { createNote, downloadScan, removeNote, uploadScan } = contract
const refused: [error: string, broken: Operation][] = [
  ["body: must be 'none' for DELETE", { ...removeNote, body: createNote.body }],
  ["body: 'multipart' needs POST, PUT or PATCH", { ...uploadScan, method: 'GET' }],
  ["method: must be GET for `reply: 'stream'`", { ...downloadScan, method: 'POST' }],
  ['policy.idempotent: needs JSON in body and reply', { ...uploadScan, policy: createNote.policy }],
  ['policy.idempotent: needs JSON in body and reply', { ...downloadScan, policy: createNote.policy }],
  ['examples.body.text: ', { ...createNote, examples: { body: { text: 7 } } }],
  ['examples.reply.bizId: ', { ...createNote, examples: { reply: { text: 'Call Ada' } } }],
  ['examples.query: the operation has no schema for it', { ...createNote, examples: { query: { text: 'Ada' } } }],
]

test.each(refused)('checkDomain: %s', (error, broken) => {
  const { errors } = checkDomain({ ...memos, operations: { broken } })
  expect(errors.filter((each) => each.startsWith(`operations.broken.${error}`))).toHaveLength(1)
})
