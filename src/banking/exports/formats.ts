import { Readable } from 'node:stream'
import { stringify } from 'csv-stringify/sync'
import { type Instant, toIso } from '../../kernel/index.ts'
import type { ExportFormat, ExportType } from './contract.ts'
import type { ColumnKind, Row, Source } from './source.ts'

/** Characters that can start a formula or a new cell, including full-width forms (OWASP, CSV injection). */
const formulaStart = /^[=+\-@\t\r\n＝＋－＠]/

/** An apostrophe prevents a spreadsheet from evaluating a formula. */
export function neutralizeFormula(value: string | number | null): string {
  const text = value === null ? '' : String(value)
  return typeof value === 'string' && formulaStart.test(text) ? `'${text}` : text
}

/** In many locales, a spreadsheet starts a new cell after a semicolon, a tab or a line break, even inside quotes. */
const embeddedFormulaStart = /(?<=[;\t\r\n])[=+\-@＝＋－＠]/g

/**
 * Escapes two characters that XML forbids and the library does not escape, and underscores that would start an escape
 * sequence (ECMA-376, ST_Xstring).
 */
export function escapeXmlText(text: string): string {
  return text.replace(/_(?=x[0-9a-f]{4}_)|[\ufffe\uffff]/gi, escapeCharacter)
}

/** A spreadsheet calculates with 15 significant digits, and the format of the cells shows 12 decimal places. */
const [maxSignificantDigits, maxDecimalPlaces] = [15, 12]
const cellFormats: Record<ColumnKind, string> = {
  decimal: `#,##0.00${'#'.repeat(maxDecimalPlaces - 2)}`,
  instant: 'yyyy-mm-dd hh:mm:ss.000',
}

/** Returns the text itself if a spreadsheet would round the number. */
export function toNumberCell(text: string): number | string {
  const [matched, whole = '', fraction = ''] = /^-?(\d+)(?:\.(\d*?)0*)?$/.exec(text) ?? []
  const isExact =
    matched !== undefined &&
    fraction.length <= maxDecimalPlaces &&
    `${whole}${fraction}`.replace(/^0+/, '').length <= maxSignificantDigits
  return isExact ? Number(text) : text
}

export interface ExportWriter {
  ending: string
  contentType: string
  write(source: Source): Readable
}

/** Characters per chunk. Writing each row separately costs more than formatting it. */
const chunkLength = 32 * 1024

/** CSV follows RFC 4180, with the byte-order mark by which Excel recognizes UTF-8. JSON Lines contain unmodified values. XLSX has numbers, and times in UTC. */
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
export function exportName(type: ExportType, createdAt: Instant, ending: string): string {
  return `${type.toLowerCase().replaceAll('_', '-')}-${toIso(createdAt).slice(0, 10)}.${ending}`
}

function escapeCharacter(char: string): string {
  return `_x${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`
}

function readText(lines: AsyncIterable<string>): Readable {
  return Readable.from(joinLines(lines), { objectMode: false })
}

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

async function* csv({ columns, rows }: Source): AsyncGenerator<string> {
  yield `\ufeff${toCsvLine([...columns])}`
  for await (const row of rows) yield toCsvLine(toCells(columns, row))
}

/** Also quotes a single CR or LF (RFC 4180, section 2.6) and other separators, because the library does not. */
function toCsvLine(texts: string[]): string {
  return stringify([texts.map((text) => text.replace(embeddedFormulaStart, "'$&"))], {
    record_delimiter: 'windows',
    quoted_match: /[\r\n;\t]/,
  })
}

function toCells(columns: readonly string[], row: Row): string[] {
  return columns.map((column) => neutralizeFormula(row[column] ?? null))
}

async function* jsonLines({ columns, rows }: Source): AsyncGenerator<string> {
  for await (const row of rows)
    yield `${JSON.stringify(Object.fromEntries(columns.map((column) => [column, row[column] ?? null])))}\n`
}

function xlsx(source: Source): Readable {
  return Readable.from(sheet(source), { objectMode: false })
}

async function* sheet(source: Source): AsyncGenerator<Uint8Array> {
  const { writeXlsxStream } = await import('hucre/xlsx')
  yield* writeXlsxStream(grid(source), {
    name: 'Export',
    columns: source.columns.map((header) => {
      const kind = source.kinds?.[header]
      return kind === undefined ? { header } : { header, numFmt: cellFormats[kind], width: 24 }
    }),
    freezePane: { rows: 1 },
  })
}

/** Text needs no apostrophe, because a spreadsheet does not evaluate a cell of the type text. */
async function* grid({ columns, kinds = {}, rows }: Source): AsyncGenerator<(number | string | Date | null)[]> {
  for await (const row of rows) yield columns.map((column) => toTypedCell(row[column], kinds[column]))
}

function toTypedCell(value: Row[string] | undefined, kind: ColumnKind | undefined): number | string | Date | null {
  if (typeof value !== 'string') return value ?? null
  if (kind === 'instant') return new Date(value)
  return kind === 'decimal' ? toNumberCell(value) : escapeXmlText(value)
}
