import { buffer, text } from 'node:stream/consumers'
import { readXlsx } from 'hucre/xlsx'
import { expect, test } from 'vitest'
import { escapeXmlText, formats, neutralizeFormula } from '../../../src/domains/exports/formats.ts'
import { readAllRows } from '../../../src/domains/exports/source.ts'
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
])('the cell %j becomes %j', (value, cell) => {
  expect(neutralizeFormula(value)).toBe(cell)
})

test('a workbook says what the list says, whatever the text, and is well-formed XML', async () => {
  const texts = ['a\uffffb\ufffe', '_x0041_', '_x005F_x0041_', '_x003d_1', '_xyz_', '漢字 🎉', '<b>&"']
  for (const text of texts) expect(escapeXmlText(text)).not.toMatch(/[\ufffe\uffff]/)
  async function* rows() {
    for (const text of texts) yield { text }
  }
  const bytes = await buffer(formats.XLSX.write({ columns: ['text'], rows: rows() }))
  expect((await readXlsx(bytes)).sheets[0]?.rows).toEqual([['text'], ...texts.map((text) => [text])])
})

test('a CSV keeps the text of a cell within its cell, whatever ends lines in it', async () => {
  const texts = ['a\nb', 'a\rb', 'a\r\nb', 'a\n=1+1', 'a\r=1+1', 'a,b', 'a"b', 'a']
  async function* rows() {
    for (const text of texts) yield { text, last: 'z' }
  }
  const csv = await text(formats.CSV.write({ columns: ['text', 'last'], rows: rows() }))
  const quoted = texts.slice(0, -1).map((text) => `"${text.replaceAll('"', '""').replace(/(?<=[\r\n])=/, "'=")}"`)
  expect(csv).toBe(['text', ...quoted, 'a'].map((cell, at) => `${cell},${at === 0 ? 'last' : 'z'}\r\n`).join(''))
})

test('a CSV has no cell that would be run for readers who divide by semicolons or tabs, and is one list for who takes all', async () => {
  const agent = "Mozilla/5.0 (X11;=cmd|'/C calc'!A0; x\t@SUM(A1)\n+1;-1;＝1)"
  async function* rows() {
    yield { agent, last: 'z' }
    yield { agent: 'Mozilla/5.0 (X11; Linux)', last: 'z' }
  }
  const csv = await text(formats.CSV.write({ columns: ['agent', 'last'], rows: rows() }))
  expect(csv.split(/[;\t\r\n]/).filter((part) => /^[=+\-@＝]/.test(part))).toEqual([])
  expect(csv).toContain('\r\n"Mozilla/5.0 (X11; Linux)",z\r\n')
})

test('every row comes once, however many share an instant', async () => {
  const start = toInstant(1_000)
  const rows = Array.from({ length: 50 }, (_, index) => ({
    bizId: String(index).padStart(3, '0'),
    createdAt: addMs(start, index < 10 ? index : index < 40 ? 20 : index),
  }))
  for (const size of [1, 3, 7, 10, 49, 50, 51]) {
    const found: string[] = []
    const read = readAllRows<(typeof rows)[number]>(
      async ({ from, currentPage, pageSize }) =>
        rows
          .filter((row) => from === undefined || row.createdAt >= from)
          .slice((currentPage - 1) * pageSize, currentPage * pageSize),
      undefined,
      size,
    )
    for await (const row of read) found.push(row.bizId)
    expect(found, `pages of ${size}`).toEqual(rows.map(({ bizId }) => bizId))
  }
})
