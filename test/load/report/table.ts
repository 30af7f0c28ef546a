import { reached, type Target } from '../targets.ts'
import type { Outcome, Row } from './outcome.ts'
import { median, spread } from './stats.ts'

function number(value: number, digits: number): string {
  return Number.isFinite(value) ? value.toFixed(digits) : '-'
}
function grouped(value: number): string {
  return Number.isFinite(value) ? Math.round(value).toLocaleString('en') : '-'
}

const heads = [
  'scenario',
  'contender',
  'per second',
  '±',
  'p50 ms',
  'p99 ms',
  'CPU s / 10,000',
  'ratio',
  'ratio of CPU',
]

function cells(row: Row, outcome: Outcome): string[] {
  const own = outcome.rows[0]
  const figure = outcome.figures.find(({ id }) => id === `${row.scenario}/${row.contender}`)
  const ofCpu = own && row !== own && row.cpu.length > 0 ? median(row.cpu) / median(own.cpu) : Number.NaN
  return [
    row.scenario,
    row.contender,
    `${grouped(median(row.perSecond))} ${row.unit}`,
    `${number(spread(row.perSecond) * 100, 0)} %`,
    number(median(row.p50), 2),
    number(median(row.p99), 2),
    number(median(row.cpu), 2),
    figure ? number(median(figure.values), 2) : '',
    Number.isFinite(ofCpu) ? number(ofCpu, 2) : '',
  ]
}

function aligned(rows: string[][]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)))
  const line = (row: string[]) =>
    `| ${row.map((cell, column) => (column < 2 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))).join(' | ')} |`
  const [head = [], ...rest] = rows
  return [line(head), `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...rest.map(line)].join('\n')
}

export function table(outcomes: readonly Outcome[]): string {
  return aligned([heads, ...outcomes.flatMap((outcome) => outcome.rows.map((row) => cells(row, outcome)))])
}

export interface Verdict extends Target {
  value: number
  spread: number
  reached: boolean
}

/** Skips targets that were not measured. */
export function evaluate(targets: readonly Target[], outcomes: readonly Outcome[]): Verdict[] {
  return targets.flatMap((target) => {
    const figure = outcomes.flatMap(({ figures }) => figures).find(({ id }) => id === target.figure)
    if (!figure) return []
    const value = median(figure.values)
    return [{ ...target, value, spread: spread(figure.values), reached: reached(target, value) }]
  })
}

function bound({ atLeast, atMost }: Target): string {
  return atLeast === undefined ? `≤ ${atMost}` : `≥ ${Number(atLeast.toFixed(2))}`
}

export function verdictTable(verdicts: readonly Verdict[]): string {
  return aligned([
    ['target', 'reached', 'asked', 'measured', '±'],
    ...verdicts.map((verdict) => [
      verdict.description,
      verdict.reached ? 'yes' : 'no',
      bound(verdict),
      number(verdict.value, 2),
      `${number(verdict.spread * 100, 0)} %`,
    ]),
  ])
}
