import { createHash } from 'node:crypto'
import { readdir, rename, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { basename } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../../src/seed/development.ts'
import { requiredHeaders } from '../../harness/http.ts'
import { encodeMultipart, type Part, pdf, png } from '../../harness/multipart.ts'
import { needsStore } from '../../harness/needs.ts'
import { type Portico, startPortico } from '../../harness/portico.ts'
import { type Session, signIn } from '../../harness/sign-in.ts'

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
function purpose(content = 'DOCUMENT'): Part {
  return { name: 'purpose', content }
}
function file(changed: Partial<Part> = {}): Part {
  return {
    name: 'file',
    content: pdf(),
    fileName: 'contract.pdf',
    type: 'application/pdf',
    ...changed,
  }
}

describe('files', needsStore(), () => {
  let portico: Portico
  let session: Session
  const workspace = developmentIds.workspace

  beforeAll(async () => {
    portico = await startPortico({
      adjust: ({ requests }) => {
        // On a busy machine, aborted uploads are still open during the next test.
        requests.maxTransfersPerAccount = 100
      },
    })
    session = await signIn(portico)
  })
  afterAll(() => portico?.stop())

  const upload = (parts: Part[]) => {
    const { headers, body } = encodeMultipart(parts)
    return portico.call('POST', '/web/v1/consumer/files/upload', {
      token: session.accessToken,
      workspace,
      headers,
      body,
    })
  }
  const read = (id: string, call: object = {}) =>
    portico.call('GET', `/web/v1/consumer/files/${id}`, { token: session.accessToken, workspace, ...call })
  const download = async (id: string, headers: Record<string, string> = {}, method = 'GET') => {
    const response = await fetch(`${portico.url}/web/v1/consumer/files/${id}/download`, {
      method,
      headers: {
        ...requiredHeaders(),
        authorization: `Bearer ${session.accessToken}`,
        'x-workspace-id': workspace,
        ...headers,
      },
    })
    return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) }
  }
  const uploaded = async (parts = [file(), purpose()]): Promise<Record<string, string>> => {
    const reply = await upload(parts)
    expect(reply.status, reply.text).toBe(200)
    return reply.body.data
  }
  const code = ({ status, body }: { status: number; body: { code?: string } | null }) => [status, body?.code]
  const invalid = [400, 'VALIDATION.INVALID_PARAMETER']

  test('files.delete 200: the file is no longer available; 404 for a deleted file', async () => {
    const { bizId = '' } = await uploaded()
    const remove = () =>
      portico.call('POST', `/web/v1/consumer/files/${bizId}/delete`, { token: session.accessToken, workspace })
    const deleted = await remove()
    expect([deleted.status, deleted.body.data]).toEqual([200, null])
    expect(code(await read(bizId))).toEqual([404, 'RESOURCE.NOT_FOUND'])
    expect((await download(bizId)).status).toBe(404)
    expect(code(await remove())).toEqual([404, 'RESOURCE.NOT_FOUND'])
  })

  test('files.upload 200: type by content, size and hash', async () => {
    const content = pdf(100_000)
    const reply = await upload([file({ content }), purpose('RECHARGE_PROOF')])
    expect(reply.status, reply.text).toBe(200)
    expect(reply.body.data).toMatchObject({
      fileName: 'contract.pdf',
      contentType: 'application/pdf',
      sizeBytes: 100_000,
      sha256: sha256(content),
      purpose: { code: 'RECHARGE_PROOF' },
      fileStatus: { code: 'AVAILABLE' },
    })
    const again = await read(reply.body.data.bizId)
    expect(again.body.data).toEqual(reply.body.data)
  })

  test('files.upload 200: the purpose can come first, and a file can have one byte', async () => {
    const small = file({ content: 'x', fileName: 'note.txt', type: 'text/plain' })
    expect(await uploaded([purpose(), small])).toMatchObject({ sizeBytes: 1, contentType: 'text/plain' })
  })

  test.each([
    ['../../etc/passwd', 'passwd.pdf'],
    ['..\\..\\windows\\win.ini', 'win.ini.pdf'],
    ['a\u202efdp.exe', 'afdp.exe.pdf'],
    ['.pdf', 'file.pdf'],
    ['...', 'file.pdf'],
    ['Übersicht Q3.PDF', 'Übersicht Q3.pdf'],
  ])('files.upload 200: the name %j is stored as %j', async (fileName, storage) => {
    expect((await uploaded([file({ fileName }), purpose()])).fileName).toBe(storage)
  })

  test.each<[string, Part[]]>([
    ['0 bytes', [file({ content: '' }), purpose()]],
    ['two files', [file(), file(), purpose()]],
    ['no file', [purpose()]],
    ['no purpose', [file()]],
    ['two purposes', [file(), purpose(), purpose()]],
    ['an unknown purpose', [file(), purpose('MALWARE')]],
    ['another field', [file(), purpose(), { name: 'a[b][c]', content: 'x' }]],
    ['a hostile field', [{ name: '__proto__', content: 'x' }, file(), purpose()]],
    ['a huge index', [{ name: 'x[999999999]', content: 'x' }, file(), purpose()]],
    ['a file under another name', [file({ name: 'file[0]' }), purpose()]],
    ['a name with NUL', [file({ fileName: 'a\0.pdf' }), purpose()]],
    ['a name in invalid UTF-8', [file({ fileName: Buffer.from('a\xff\xfe.pdf', 'latin1') }), purpose()]],
    ['another type than declared', [file({ content: png() }), purpose()]],
    ['a type that the purpose does not allow', [file(), purpose('AVATAR')]],
    [
      'an SVG as a picture',
      [file({ content: '<svg onload="x()"/>', type: 'image/png', fileName: 'a.png' }), purpose()],
    ],
    ['HTML as text', [file({ content: '<!doctype html><p>', type: 'text/plain', fileName: 'a.txt' }), purpose()]],
    [
      'a PDF that is also an HTML page',
      [file({ content: Buffer.concat([pdf(), Buffer.from('<script>1</script>')]) }), purpose()],
    ],
    ['an executable', [file({ content: Buffer.from('MZ\x90\0\x03'), type: 'application/octet-stream' }), purpose()]],
    ['binary data as text', [file({ content: Buffer.from([0xff, 0xfe, 1]), type: 'text/plain' }), purpose()]],
    ['a long purpose', [file(), purpose('D'.repeat(100_000))]],
  ])('files.upload 400: %s', async (_name, parts) => {
    expect(code(await upload(parts))).toEqual(invalid)
  })

  test('files.upload 413: one byte above the limit of the purpose; 200 at the limit', async () => {
    const limit = portico.settings.files.purposes.AVATAR.maxBytes
    const avatar = (size: number) => [
      file({ content: png(size), type: 'image/png', fileName: 'me.png' }),
      purpose('AVATAR'),
    ]
    expect((await uploaded(avatar(limit))).sizeBytes).toBe(limit)
    expect(code(await upload(avatar(limit + 1)))).toEqual([413, 'REQUEST.TOO_LARGE'])
  })

  test('files.upload 413: one byte above every limit', async () => {
    const limit = portico.settings.files.purposes.DOCUMENT.maxBytes
    expect(code(await upload([purpose(), file({ content: pdf(limit + 1) })]))).toEqual([413, 'REQUEST.TOO_LARGE'])
  })

  test('files.upload 413: the parts before the file are limited, too', async () => {
    const { headers, body } = encodeMultipart([file(), purpose()])
    const preamble = Buffer.alloc(26 * 1024 * 1024, 'no form yet\r\n')
    const call = { token: session.accessToken, workspace, headers, body: Buffer.concat([preamble, body]) }
    const reply = await portico.call('POST', '/web/v1/consumer/files/upload', call)
    expect(code(reply)).toEqual([413, 'REQUEST.TOO_LARGE'])
  })

  test('files.upload 400: a form without an end or a boundary', async () => {
    const post = (headers: Record<string, string>, body: Uint8Array) =>
      portico.call('POST', '/web/v1/consumer/files/upload', { token: session.accessToken, workspace, headers, body })
    const { headers, body } = encodeMultipart([file(), purpose()])
    expect(code(await post(headers, body.subarray(0, -40)))).toEqual(invalid)
    expect(code(await post({ 'content-type': 'multipart/form-data; charset=utf-8' }, body))).toEqual(invalid)
    expect(code(await post({ 'content-type': 'application/json' }, body))).toEqual([
      415,
      'REQUEST.UNSUPPORTED_MEDIA_TYPE',
    ])
  })

  test('files.read 404: the same for unknown, foreign and malformed ids', async () => {
    const { bizId } = await uploaded()
    const other = await portico.call('POST', '/web/v1/consumer/workspaces', {
      token: session.accessToken,
      body: { workspaceName: 'Elsewhere' },
    })
    const responses = [
      await read(bizId ?? '', { workspace: other.body.data.bizId }),
      await read('01990000-0000-7000-8000-00000000dead'),
      await read('nothing'),
    ]
    for (const reply of responses) expect(code(reply)).toEqual([404, 'RESOURCE.NOT_FOUND'])
    const foreign = await portico.call('GET', `/web/v1/consumer/files/${bizId}/download`, {
      token: session.accessToken,
      workspace: other.body.data.bizId,
    })
    expect(code(foreign)).toEqual([404, 'RESOURCE.NOT_FOUND'])
  })

  test('files.upload 403: a member without the permission', async () => {
    const member = await signIn(portico, 'member@demo.test')
    const { headers, body } = encodeMultipart([file(), purpose()])
    const reply = await portico.call('POST', '/web/v1/consumer/files/upload', {
      token: member.accessToken,
      workspace,
      headers,
      body,
    })
    expect(code(reply)).toEqual([403, 'ACCESS.PERMISSION_DENIED'])
  })

  test('files.download 200: an attachment that browsers do not sniff', async () => {
    const content = pdf(300_000)
    const { bizId = '' } = await uploaded([
      file({ content, fileName: 'Übersicht "Q3".pdf'.replaceAll('"', "'") }),
      purpose(),
    ])
    const { status, headers, bytes } = await download(bizId)
    expect(status).toBe(200)
    expect(bytes.equals(content)).toBe(true)
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'application/pdf',
      'content-length': '300000',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      'accept-ranges': 'bytes',
      etag: `"${sha256(content)}"`,
      'content-disposition': `attachment; filename="_bersicht 'Q3'.pdf"; filename*=UTF-8''%C3%9Cbersicht%20%27Q3%27.pdf`,
    })
    expect(headers.has('set-cookie')).toBe(false)
    const head = await download(bizId, {}, 'HEAD')
    expect([head.status, head.bytes.length, head.headers.get('content-length')]).toEqual([200, 0, '300000'])
    // Range is only defined for GET (RFC 9110, 14.2).
    const ranged = await download(bizId, { range: 'bytes=0-9', 'if-range': '"other"' }, 'HEAD')
    expect([ranged.status, ranged.headers.get('content-length')]).toEqual([200, '300000'])
    expect((await download(bizId, { range: 'bytes=999999-' }, 'HEAD')).status).toBe(200)
  })

  test('files.download 206: one range, clamped to the file', async () => {
    const content = Buffer.concat([pdf(100), Buffer.from('0123456789')])
    const { bizId = '' } = await uploaded([file({ content }), purpose()])
    const part = async (range: string) => {
      const { status, headers, bytes } = await download(bizId, { range })
      return [status, headers.get('content-range'), bytes.toString('latin1')]
    }
    expect(await part('bytes=100-103')).toEqual([206, 'bytes 100-103/110', '0123'])
    expect(await part('bytes=105-')).toEqual([206, 'bytes 105-109/110', '56789'])
    expect(await part('bytes=-2')).toEqual([206, 'bytes 108-109/110', '89'])
    expect(await part('bytes=108-999999')).toEqual([206, 'bytes 108-109/110', '89'])
    expect((await part('lines=1-2'))[0]).toBe(200)
    expect((await part('bytes=9-3'))[0]).toBe(200)
  })

  test.each([
    ['past the end', 'bytes=110-'],
    ['500 ranges', `bytes=${Array.from({ length: 500 }, (_, at) => `${at % 9}-${at % 9}`).join(',')}`],
    ['an empty suffix range', 'bytes=-0'],
  ])('files.download 416: %s', async (_name, range) => {
    const { bizId = '' } = await uploaded([file({ content: pdf(110) }), purpose()])
    const { status, headers, bytes } = await download(bizId, { range })
    expect([status, headers.get('content-range')]).toEqual([416, 'bytes */110'])
    expect(JSON.parse(bytes.toString()).code).toBe('FILE.RANGE_NOT_SATISFIABLE')
  })

  test('files.download 304, and a range only of the version that the client has', async () => {
    const { bizId = '', sha256: hash } = await uploaded()
    const same = await download(bizId, { 'if-none-match': `"other", W/"${hash}"` })
    expect([same.status, same.bytes.length, same.headers.get('etag')]).toEqual([304, 0, `"${hash}"`])
    expect((await download(bizId, { 'if-none-match': '"other"' })).status).toBe(200)
    expect((await download(bizId, { range: 'bytes=0-0', 'if-range': `"${hash}"` })).status).toBe(206)
    expect((await download(bizId, { range: 'bytes=0-0', 'if-range': '"other"' })).status).toBe(200)
  })

  test('sandbox.reset 200: deletes the files of a sandbox', async () => {
    const created = await portico.call('POST', '/web/v1/consumer/workspaces', {
      token: session.accessToken,
      body: { workspaceName: 'Playground', workspaceKind: 'SANDBOX' },
    })
    const sandbox = { token: session.accessToken, workspace: created.body.data.bizId }
    const { headers, body } = encodeMultipart([file(), purpose()])
    const stored = await portico.call('POST', '/web/v1/consumer/files/upload', { ...sandbox, headers, body })
    expect(stored.status, stored.text).toBe(200)
    const reset = await portico.call('POST', '/web/v1/consumer/sandbox/reset', sandbox)
    expect(reset.status, reset.text).toBe(200)
    const gone = await portico.call('GET', `/web/v1/consumer/files/${stored.body.data.bizId}`, sandbox)
    expect(code(gone)).toEqual([404, 'RESOURCE.NOT_FOUND'])
  })

  test('files.upload: an aborted upload leaves nothing behind', async () => {
    const { hostname, port } = new URL(portico.url)
    const { headers, body } = encodeMultipart([file({ content: pdf(200_000) }), purpose()])
    const head = Object.entries({
      ...requiredHeaders(),
      ...headers,
      authorization: `Bearer ${session.accessToken}`,
      'x-workspace-id': workspace,
      'content-length': String(body.length),
      host: `${hostname}:${port}`,
    }).map(([name, value]) => `${name}: ${value}\r\n`)
    const abort = () =>
      new Promise<void>((resolve) => {
        const socket = connect(Number(port), hostname, () => {
          socket.write(`POST /web/v1/consumer/files/upload HTTP/1.1\r\n${head.join('')}\r\n`)
          socket.write(body.subarray(0, 120_000), () => setTimeout(() => socket.destroy(), 20))
        })
        socket.on('error', () => undefined).on('close', () => resolve())
      })
    const before = await blobCount(portico.settings.dataDirectory)
    await Promise.all(Array.from({ length: 20 }, abort))
    await expect.poll(() => blobCount(portico.settings.dataDirectory)).toBe(before)
    const { status } = await read((await uploaded()).bizId ?? '')
    expect(status).toBe(200)
  })

  test('files.upload, files.download 503 when the blob store is unavailable', async () => {
    const { bizId = '' } = await uploaded()
    portico.expectFault(({ operation }) => /^files\.(upload|download)$/.test(String(operation)))
    const folder = `${portico.settings.dataDirectory}/blobs`
    await rename(folder, `${folder}.away`)
    await writeFile(folder, 'no folder')
    try {
      for (const size of [200, 300_000, 5_000_000]) {
        const reply = await upload([file({ content: pdf(size) }), purpose()])
        expect([...code(reply), reply.headers.get('retry-after')]).toEqual([503, 'SYSTEM.UNAVAILABLE', '1'])
      }
      expect((await download(bizId)).status).toBe(503)
    } finally {
      await rm(folder)
      await rename(`${folder}.away`, folder)
    }
    // After failures, the circuit breaker of a remote domain is open for half a second.
    await expect.poll(async () => (await download(bizId)).status).toBe(200)
  })

  test('files.download 503 for missing bytes; bytes of another length abort the connection', async () => {
    const promised = pdf(300_000)
    const { bizId = '' } = await uploaded([file({ content: promised }), purpose()])
    portico.expectFault(({ operation }) => operation === 'files.download')
    const path = await newestBlob(portico.settings.dataDirectory)
    for (const there of [promised.subarray(0, 200_000), Buffer.concat([promised, Buffer.from('HTTP/1.1 200 OK')])]) {
      await writeFile(path, there)
      await expect(download(bizId)).rejects.toThrow()
    }
    await rm(path)
    expect((await download(bizId)).status).toBe(503)
  })
})

async function blobs(directory: string): Promise<string[]> {
  const entries = await readdir(`${directory}/blobs`, { recursive: true, withFileTypes: true }).catch(() => [])
  return entries.filter((entry) => entry.isFile()).map((entry) => `${entry.parentPath}/${entry.name}`)
}

/** The names begin with the time. */
async function newestBlob(directory: string): Promise<string> {
  return (await blobs(directory)).toSorted((one, other) => basename(one).localeCompare(basename(other))).at(-1) ?? ''
}

async function blobCount(directory: string): Promise<number> {
  return (await blobs(directory)).length
}
