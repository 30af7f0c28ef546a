import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../src/seed/development.ts'
import { requiredHeaders } from '../harness/http.ts'
import { encodeMultipart, type Part, pdf, png } from '../harness/multipart.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { type Session, signIn } from '../harness/sign-in.ts'

function purpose(content = 'DOCUMENT'): Part {
  return { name: 'purpose', content }
}
function file(changed: Partial<Part> = {}): Part {
  return { name: 'file', content: pdf(), fileName: 'contract.pdf', type: 'application/pdf', ...changed }
}
/** Little-endian, with a byte-order mark. */
function utf16(text: string): Buffer {
  return Buffer.from(`\ufeff${text}`, 'utf16le')
}
const windows1252 = Buffer.from('M\xfcller;caf\xe9;1,50 \x80;\x93x\x94\r\n', 'latin1')
/** The signature of a compound file. */
const workbook = Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(600)])
const invalid = 'VALIDATION.INVALID_PARAMETER'

describe('the types of uploaded files', () => {
  let portico: Portico
  let session: Session
  const workspace = developmentIds.workspace
  beforeAll(async () => {
    portico = await startPortico()
    session = await signIn(portico)
  })
  afterAll(() => portico?.stop())

  const upload = (parts: Part[]) => {
    const call = { token: session.accessToken, workspace, ...encodeMultipart(parts) }
    return portico.call('POST', '/web/v1/consumer/files/upload', call)
  }
  const download = async (id: string): Promise<Buffer> => {
    const headers = {
      ...requiredHeaders(),
      authorization: `Bearer ${session.accessToken}`,
      'x-workspace-id': workspace,
    }
    const response = await fetch(`${portico.url}/web/v1/consumer/files/${id}/download`, { headers })
    return Buffer.from(await response.arrayBuffer())
  }

  const csv = 'Müller;café;1,50 €\r\n'
  test.each<[string, string, string | Uint8Array, string, string]>([
    ['from Windows with Excel', 'application/vnd.ms-excel', csv, 'a.csv', 'text/csv'],
    ['from Windows without Excel', 'application/octet-stream', csv, 'a.CSV', 'text/csv'],
    ['with a byte-order mark', 'application/vnd.ms-excel', `\ufeff${csv}`, 'a.csv', 'text/csv'],
    ['in UTF-16', 'text/csv', utf16(csv), 'a.csv', 'text/csv'],
    ['in UTF-16, big-endian', 'application/vnd.ms-excel', utf16(csv).swap16(), 'a.csv', 'text/csv'],
    ['in UTF-16, longer than the head', 'text/csv', utf16(csv.repeat(1_000)), 'a.csv', 'text/csv'],
    ['in Windows-1252', 'application/vnd.ms-excel', windows1252, 'a.csv', 'text/csv'],
    ['in Shift_JIS', 'application/vnd.ms-excel', Buffer.from('838983938342', 'hex'), 'a.csv', 'text/csv'],
    ['with parameters', 'text/csv; charset="utf8"; header=present', csv, 'a.csv', 'text/csv'],
    ['under another name', 'application/csv', csv, 'a', 'text/csv'],
    ['of no known name', 'application/octet-stream', windows1252, 'a.txt', 'text/plain'],
    ['as plain text', 'text/plain', windows1252, 'a.txt', 'text/plain'],
    ['that begins like a bitmap', 'text/csv', 'BMI;weight\r\n', 'a.csv', 'text/csv'],
    ['that begins like a program', 'application/octet-stream', '\ufeffMZ;Mozambique\r\n', 'a.csv', 'text/csv'],
  ])('files.upload 200: a text %s, declared as %s', async (_name, type, content, fileName, contentType) => {
    const { body, text } = await upload([file({ content, type, fileName }), purpose()])
    expect(body.data?.contentType, text).toBe(contentType)
    expect(await download(body.data.bizId)).toEqual(Buffer.from(content))
  })

  test.each(['multipart/form-data; boundary="a b"', 'Multipart/Form-Data; charset=utf8; boundary="a b"; v=1'])(
    'files.upload 200: a form as .NET sends it, with %s',
    async (type) => {
      const disposition = 'Content-Disposition: form-data; name='
      const body = [
        `--a b\r\n${disposition}purpose\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nDOCUMENT\r\n`,
        `--a b\r\nContent-Type: Text/CSV; charset=UTF8\r\n${disposition}file; filename=a.csv; filename*=utf-8''a.csv`,
        '\r\n\r\na;b\r\n--a b--\r\n',
      ].join('')
      const call = { token: session.accessToken, workspace, headers: { 'content-type': type }, body: Buffer.from(body) }
      const reply = await portico.call('POST', '/web/v1/consumer/files/upload', call)
      expect(reply.body.data, reply.text).toMatchObject({ fileName: 'a.csv', contentType: 'text/csv', sizeBytes: 3 })
    },
  )

  test('files.upload 400: the refusal names the accepted types', async () => {
    const refused = async (parts: Part[]) => {
      const { body, headers } = await upload(parts)
      return [body?.code, body?.message, headers.get('accept')]
    }
    const pictures = 'image/png, image/jpeg, image/webp'
    expect(await refused([file(), purpose('AVATAR')])).toEqual([
      invalid,
      `invalid request parameters: file (${pictures})`,
      pictures,
    ])
    const all = `application/pdf, ${pictures}, text/csv, text/plain`
    expect(await refused([file({ content: 'MZ\0', type: 'text/csv' }), purpose()])).toEqual([
      invalid,
      `invalid request parameters: file (${all})`,
      all,
    ])
    expect(await refused([file(), purpose('MALWARE')])).toEqual([invalid, 'invalid request parameters: purpose', null])
  })

  test.each<[string, Part[]]>([
    ['HTML in UTF-16 as text', [file({ content: utf16('<script>1</script>'), type: 'text/plain' }), purpose()]],
    ['UTF-16 without a byte-order mark', [file({ content: utf16('a;b').subarray(2), type: 'text/csv' }), purpose()]],
    ['binary data as CSV', [file({ content: Buffer.from('a\0\x80'), type: 'application/vnd.ms-excel' }), purpose()]],
    ['an old Excel file as CSV', [file({ content: workbook, type: 'application/vnd.ms-excel' }), purpose()]],
    ['text as a picture', [file({ content: 'a;b', type: 'image/png' }), purpose()]],
    ['a PDF of plain text as CSV', [file({ content: '%PDF-1.4\n%a', type: 'text/csv' }), purpose()]],
    ['a picture as CSV', [file({ content: png(), type: 'application/vnd.ms-excel' }), purpose()]],
  ])('files.upload 400: %s', async (_name, parts) => {
    const { status, body } = await upload(parts)
    expect([status, body.code]).toEqual([400, invalid])
  })
})
