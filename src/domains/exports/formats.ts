import { Readable } from 'node:stream'
import { stringify } from 'csv-stringify/sync'
import { type Instant, toIso } from '../../kernel/index.ts'
import type { ExportFormat, ExportType } from './contract.ts'
import type { Row, Source } from './source.ts'

/**
 * Characters that can start a formula or a new cell in a spreadsheet, including their full-width forms (OWASP, CSV
 * injection).
 */
const formulaStart = /^[=+\-@\t\r\n＝＋－＠]/

/** Formats a cell as text. Prefixes a formula with an apostrophe, so that a spreadsheet does not evaluate it. */
export const neutralizeFormula = (value: string | number | null): string => {
  const text = value === null ? '' : String(value)
  return typeof value === 'string' && formulaStart.test(text) ? `'${text}` : text
}

const toCells = (columns: readonly string[], row: Row): string[] =>
  columns.map((column) => neutralizeFormula(row[column] ?? null))

/**
 * Matches a formula after a semicolon, a tab or a line break. In many locales a spreadsheet starts a new cell there,
 * even inside quotes.
 */
const embeddedFormulaStart = /(?<=[;\t\r\n])[=+\-@＝＋－＠]/g

/**
 * Formats a CSV line. Also quotes a single CR or LF (RFC 4180, section 2.6) and other separators, which the library
 * does not quote.
 */
const toCsvLine = (texts: string[]): string =>
  stringify([texts.map((text) => text.replace(embeddedFormulaStart, "'$&"))], {
    record_delimiter: 'windows',
    quoted_match: /[\r\n;\t]/,
  })

async function* csv({ columns, rows }: Source): AsyncGenerator<string> {
  yield toCsvLine([...columns])
  for await (const row of rows) yield toCsvLine(toCells(columns, row))
}

async function* jsonLines({ columns, rows }: Source): AsyncGenerator<string> {
  for await (const row of rows)
    yield `${JSON.stringify(Object.fromEntries(columns.map((column) => [column, row[column] ?? null])))}\n`
}

const escapeCharacter = (char: string): string => `_x${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`

/**
 * Escapes a text for a workbook (ECMA-376, ST_Xstring). Covers two characters that XML forbids and the library does not
 * escape, and underscores that would start an escape sequence.
 */
export const escapeXmlText = (text: string): string =>
  text.replace(/_(?=x[0-9a-f]{4}_)|[\ufffe\uffff]/gi, escapeCharacter)

async function* grid({ columns, rows }: Source): AsyncGenerator<string[]> {
  for await (const row of rows) yield toCells(columns, row).map(escapeXmlText)
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

/** Writes the rows of an export in one format. */
export interface ExportWriter {
  ending: string
  contentType: string
  write(source: Source): Readable
}

/** Number of characters per written chunk. Writing each row separately costs more than formatting it. */
const chunkLength = 32 * 1024

async function* joinLines(lines: AsyncIterable<string>): AsyncGenerator<Buffer> {
  let text = ''
  for await (const line of lines) {
    text += line
    if (text.length < chunkLength) continue
    yield Buffer.from(text)
    text = ''
  }
  if (text !== '') yield Buffer.from(text)
}

const readText = (lines: AsyncIterable<string>): Readable => Readable.from(joinLines(lines), { objectMode: false })

/** The formats of an export: CSV (RFC 4180), JSON Lines with unmodified values, and XLSX. */
export const formats: Record<ExportFormat, ExportWriter> = {
  CSV: { ending: 'csv', contentType: 'text/csv; charset=utf-8', write: (source) => readText(csv(source)) },
  JSONL: {
    ending: 'jsonl',
    contentType: 'application/jsonl; charset=utf-8',
    write: (source) => readText(jsonLines(source)),
  },
  XLSX: {
    ending: 'xlsx',
    contentType: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    write: xlsx,
  },
}

/** Returns a file name such as `withdrawals-2026-01-31.csv`, with the UTC day of the request. */
export const exportName = (type: ExportType, createdAt: Instant, ending: string): string =>
  `${type.toLowerCase().replaceAll('_', '-')}-${toIso(createdAt).slice(0, 10)}.${ending}`
