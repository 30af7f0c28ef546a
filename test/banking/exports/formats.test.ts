import { Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { readXlsx } from 'hucre/xlsx'
import { expect, test } from 'vitest'
import { escapeXmlText, formats, neutralizeFormula, toNumberCell } from '../../../src/banking/exports/formats.ts'
import { readAllRows } from '../../../src/banking/exports/source.ts'
import { addMs, toInstant } from '../../../src/kernel/index.ts'

test.each([
  ['=1+1', "'=1+1"],
  ['+1', "'+1"],
  ['-1', "'-1"],
  ['@x', "'@x"],
  ['\tx', "'\tx"],
  ['\rx', "'\rx"],
  ['\nx', "'\nx"],
  ['＝1+1', "'＝1+1"],
  ['＋1', "'＋1"],
  ['－1', "'－1"],
  ['＠x', "'＠x"],
  ['a=1', 'a=1'],
  ['', ''],
  [-5, '-5'],
  [null, ''],
])('CSV: formats %j as %j', (value, cell) => {
  expect(neutralizeFormula(value)).toBe(cell)
})

test('XLSX: preserves any text as well-formed XML', async () => {
  const texts = ['a\uffffb\ufffe', '_x0041_', '_x005F_x0041_', '_x003d_1', '_xyz_', '漢字 🎉', '<b>&"']
  for (const text of texts) expect(escapeXmlText(text)).not.toMatch(/[\ufffe\uffff]/)
  async function* rows() {
    for (const text of texts) yield { text }
  }
  const bytes = await buffer(formats.XLSX.write({ columns: ['text'], rows: rows() }))
  expect((await readXlsx(bytes)).sheets[0]?.rows).toEqual([['text'], ...texts.map((text) => [text])])
})

test.each([
  ['12.50', 12.5],
  ['-0.01', -0.01],
  ['0.00', 0],
  ['1000', 1_000],
  ['9999999999999.99', 9_999_999_999_999.99],
  ['99999999999999.99', '99999999999999.99'],
  ['999999999999999', 999_999_999_999_999],
  ['1000000000000000', '1000000000000000'],
  ['1.500000000000000000', 1.5],
  ['0.000000000001', 1e-12],
  ['0.000000000000000001', '0.000000000000000001'],
  ['', ''],
])('XLSX: the amount %j is the cell %j', (amount, cell) => {
  expect(toNumberCell(amount)).toBe(cell)
})

test('XLSX: amounts are numbers, instants are dates in UTC, and text has no apostrophe', async () => {
  const large = '123456789012345678.90'
  async function* rows() {
    yield { amount: '-1234.50', createdAt: '2026-03-01T09:00:05.123Z', remark: '=1+1', sequence: 7 }
    yield { amount: large, createdAt: null, remark: '+49 30', sequence: 8 }
  }
  const columns = ['amount', 'createdAt', 'remark', 'sequence']
  const kinds = { amount: 'decimal', createdAt: 'instant' } as const
  const bytes = await buffer(formats.XLSX.write({ columns, kinds, rows: rows() }))
  expect((await readXlsx(bytes)).sheets[0]?.rows).toEqual([
    columns,
    [-1234.5, new Date('2026-03-01T09:00:05.123Z'), '=1+1', 7],
    [large, null, '+49 30', 8],
  ])
})

test('CSV: quotes line breaks within a cell', async () => {
  const texts = ['a\nb', 'a\rb', 'a\r\nb', 'a\n=1+1', 'a\r=1+1', 'a,b', 'a"b', 'a']
  async function* rows() {
    for (const text of texts) yield { text, last: 'z' }
  }
  const csv = await text(formats.CSV.write({ columns: ['text', 'last'], rows: rows() }))
  const quoted = texts.slice(0, -1).map((text) => `"${text.replaceAll('"', '""').replace(/(?<=[\r\n])=/, "'=")}"`)
  const lines = ['text', ...quoted, 'a'].map((cell, at) => `${cell},${at === 0 ? 'last' : 'z'}\r\n`)
  expect(csv).toBe(lines.join(''))
})

test('CSV begins with a byte-order mark, so that Excel shows it as UTF-8; JSONL does not', async () => {
  const remark = '汇款 振込 chuyển khoản'
  async function* rows() {
    yield { remark }
  }
  const bytesOf = (format: 'CSV' | 'JSONL') => buffer(formats[format].write({ columns: ['remark'], rows: rows() }))
  expect(await bytesOf('CSV')).toEqual(Buffer.from(`\ufeffremark\r\n${remark}\r\n`))
  expect(await bytesOf('JSONL')).toEqual(Buffer.from(`{"remark":"${remark}"}\n`))
  const none = await buffer(formats.CSV.write({ columns: ['remark'], rows: Readable.from([]) }))
  expect(none).toEqual(Buffer.from('\ufeffremark\r\n'))
})

test('CSV: no formula after a semicolon or tab', async () => {
  const agent = "Mozilla/5.0 (X11;=cmd|'/C calc'!A0; x\t@SUM(A1)\n+1;-1;＝1)"
  async function* rows() {
    yield { agent, last: 'z' }
    yield { agent: 'Mozilla/5.0 (X11; Linux)', last: 'z' }
  }
  const csv = await text(formats.CSV.write({ columns: ['agent', 'last'], rows: rows() }))
  expect(csv.split(/[;\t\r\n]/).filter((part) => /^[=+\-@＝]/.test(part))).toEqual([])
  expect(csv).toContain('\r\n"Mozilla/5.0 (X11; Linux)",z\r\n')
})

test('readAllRows: returns each row once, also of the same instant', async () => {
  const start = toInstant(1_000)
  const rows = Array.from({ length: 50 }, (_, index) => ({
    bizId: String(index).padStart(3, '0'),
    createdAt: addMs(start, index < 10 ? index : index < 40 ? 20 : index),
  }))
  for (const size of [1, 3, 7, 10, 49, 50, 51]) {
    const ids: string[] = []
    const read = readAllRows<(typeof rows)[number]>(
      async ({ from, currentPage, pageSize }) =>
        rows
          .filter((row) => from === undefined || row.createdAt >= from)
          .slice((currentPage - 1) * pageSize, currentPage * pageSize),
      undefined,
      size,
    )
    for await (const row of read) ids.push(row.bizId)
    expect(ids, `pages of ${size}`).toEqual(rows.map(({ bizId }) => bizId))
  }
})
