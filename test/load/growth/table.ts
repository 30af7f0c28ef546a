import { writeFileSync } from 'node:fs'
import { framed, lineChart, shortNumber } from '../../../src/load/charts.ts'

/** One row per size. The first row is the small case. */
export interface Curve {
  title: string
  /** What grows, such as 'operations'. */
  size: string
  /** Names with units, such as 'CPU µs per request'. */
  columns: readonly string[]
  rows: readonly { size: number; values: readonly number[] }[]
}

function relative({ rows }: Curve, column: number): (readonly [number, number])[] {
  const small = rows[0]?.values[column] ?? Number.NaN
  return rows.map(({ values }, place) => [place, (values[column] ?? Number.NaN) / small])
}

export function curveTable(curve: Curve): string {
  const { size, columns, rows } = curve
  const heads = [size, ...columns.flatMap((column) => [column, 'ratio'])]
  const lines = rows.map((row) => [
    row.size.toLocaleString('en'),
    ...row.values.flatMap((value, column) => [
      shortNumber(value),
      (value / (rows[0]?.values[column] ?? Number.NaN)).toFixed(2),
    ]),
  ])
  return [heads, heads.map(() => '---:'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

/** The chart has four colors. */
const maxSeries = 4

/** Draws the first columns as multiples of the small case. The sizes have equal distances. */
export function drawCurve(curve: Curve, file: string): void {
  const { title, size, columns, rows } = curve
  const series = columns.slice(0, maxSeries).map((name, column) => ({ name, points: relative(curve, column) }))
  const ticks = rows.map((row, place) => [place, row.size.toLocaleString('en')] as const)
  writeFileSync(file, framed(lineChart({ title, unit: '×', xLabel: size, series, ticks })))
}
