import { Readable } from 'node:stream'
import { stringify } from 'csv-stringify/sync'
import type { ExportFormat } from './contract.ts'
import type { Row, Source } from './sources/source.ts'

/** What a spreadsheet would take for a formula, or for a way out of its cell, the wide forms too (OWASP, CSV injection). */
const active = /^[=+\-@\t\r\n＝＋－＠]/

/** The cell as text that stays text: an apostrophe goes before whatever would be run. */
export const neutral = (value: string | number | null): string => {
  const text = value === null ? '' : String(value)
  return typeof value === 'string' && active.test(text) ? `'${text}` : text
}

const cells = (columns: readonly string[], row: Row): string[] => columns.map((column) => neutral(row[column] ?? null))

/**
 * What begins another cell or row for who divides by semicolons, as spreadsheets of many countries do, or by tabs: to them
 * our quotes stand within a cell and hold nothing together.
 */
const begun = /(?<=[;\t\r\n])[=+\-@＝＋－＠]/g

/**
 * A lone CR or LF ends a line for whoever reads, which the writer does not quote by itself (RFC 4180, 2.6); nor what divides
 * cells for who tries every separator.
 */
const line = (texts: string[]): string =>
  stringify([texts.map((text) => text.replace(begun, "'$&"))], {
    record_delimiter: 'windows',
    quoted_match: /[\r\n;\t]/,
  })

async function* csv({ columns, rows }: Source): AsyncGenerator<string> {
  yield line([...columns])
  for await (const row of rows) yield line(cells(columns, row))
}

async function* jsonLines({ columns, rows }: Source): AsyncGenerator<string> {
  for await (const row of rows)
    yield `${JSON.stringify(Object.fromEntries(columns.map((column) => [column, row[column] ?? null])))}\n`
}

const byNumber = (char: string): string => `_x${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`

/**
 * A text as a workbook holds it (ECMA-376, ST_Xstring): the two characters that XML cannot hold and the writer lets pass
 * by their numbers, and an underscore by its own where a reader would take what follows for a number.
 */
export const inWorkbook = (text: string): string => text.replace(/_(?=x[0-9a-f]{4}_)|[\ufffe\uffff]/gi, byNumber)

async function* grid({ columns, rows }: Source): AsyncGenerator<string[]> {
  for await (const row of rows) yield cells(columns, row).map(inWorkbook)
}

async function* sheet(source: Source): AsyncGenerator<Uint8Array> {
  const { writeXlsxStream } = await import('hucre/xlsx')
  yield* writeXlsxStream(grid(source), {
    name: 'Export',
    columns: source.columns.map((header) => ({ header })),
    freezePane: { rows: 1 },
  })
}

const xlsx = (source: Source): Readable => Readable.from(sheet(source), { objectMode: false })

export interface ExportWriter {
  ending: string
  contentType: string
  write(source: Source): Readable
}

/** Lines of text are gathered to chunks of some size: a chunk a row would cost more than the row. */
const chunkLength = 32 * 1024

async function* gathered(lines: AsyncIterable<string>): AsyncGenerator<Buffer> {
  let text = ''
  for await (const line of lines) {
    text += line
    if (text.length < chunkLength) continue
    yield Buffer.from(text)
    text = ''
  }
  if (text !== '') yield Buffer.from(text)
}

const textual = (lines: (source: Source) => AsyncIterable<string>) => (source: Source) =>
  Readable.from(gathered(lines(source)), { objectMode: false })

/** How a list is written, row by row: CSV as RFC 4180 has it, JSON Lines with the values as they are. */
export const formats: Record<ExportFormat, ExportWriter> = {
  CSV: { ending: 'csv', contentType: 'text/csv; charset=utf-8', write: textual(csv) },
  JSONL: { ending: 'jsonl', contentType: 'application/jsonl; charset=utf-8', write: textual(jsonLines) },
  XLSX: {
    ending: 'xlsx',
    contentType: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    write: xlsx,
  },
}
