import { barChart, escapeMarkup, htmlPage, htmlTable, lineChart, shortNumber } from './charts.ts'
import type { LoadResult, ScenarioResult } from './index.ts'
import type { Percentiles } from './measurements.ts'
import type { ProcessSample } from './operations-listener.ts'

/** Facts of a run for the report. */
export interface About {
  version: string
  url: string
  /** ISO 8601. */
  startedAt: string
  ratePerSecond: number
  durationSeconds: number
  maxInFlight: number
  /** Number of accounts or API keys. */
  accounts: number
}

const heads = ['operation', 'requests', 'errors', 'p50 ms', 'p90 ms', 'p99 ms', 'p99.9 ms', 'max ms']

/** Returns the result as text for a terminal. */
export function toText({ passed, scenarios, failure }: LoadResult): string {
  return [
    ...scenarios.flatMap((result) => [...scenarioText(result), '']),
    ...(failure === null ? [] : [failure]),
    passed ? 'passed' : 'FAILED',
    '',
  ].join('\n')
}

/** Returns the result as a page that loads nothing and needs no scripts. */
export function toHtml(result: LoadResult, about: About): string {
  return htmlPage(`Load test of ${about.url}: ${result.passed ? 'passed' : 'failed'}`, [
    `<p>Portico ${about.version}, ${about.startedAt}. ${about.ratePerSecond} actions per second for ${about.durationSeconds} s with ${about.accounts} accounts or keys.</p>`,
    ...(result.failure === null ? [] : [`<p class="failed">${escapeMarkup(result.failure)}</p>`]),
    ...result.scenarios.flatMap(scenarioHtml),
  ])
}

function scenarioText(result: ScenarioResult): string[] {
  return [
    `${result.scenario}: ${rateLine(result)}`,
    ...aligned(operationRows(result)),
    `outcomes: ${Object.entries(result.figures.outcomes)
      .map(([outcome, count]) => `${outcome} × ${count}`)
      .join(', ')}`,
    ...aligned(gatewayRows(result)),
    ...judgements(result).flatMap(({ name, detail, passed, findings }) => [
      `${passed ? 'ok    ' : 'FAILED'}  ${name}: ${detail}`,
      ...findings.map((finding) => `          ${finding}`),
    ]),
    ...result.notes.map((note) => `note: ${note}`),
  ]
}

function rateLine({ figures }: ScenarioResult): string {
  return `planned ${figures.plannedRate.toFixed(1)}/s, achieved ${figures.achievedRate.toFixed(1)}/s, ${figures.dropped} dropped`
}

/** Aligns the first column left and the others right. */
function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  '),
  )
}

function operationRows({ figures }: ScenarioResult): string[][] {
  return [
    heads,
    ...figures.operations.map((row) => [row.operation, `${row.requests}`, `${row.errors}`, ...percentileCells(row)]),
    ['all', `${figures.requests}`, `${figures.errors}`, ...percentileCells(figures)],
  ]
}

function percentileCells({ p50, p90, p99, p999, max }: Percentiles): string[] {
  return [p50, p90, p99, p999, max].map(milliseconds)
}

function milliseconds(value: number): string {
  return value.toFixed(value < 100 ? 1 : 0)
}

function gatewayRows({ gateway }: ScenarioResult): string[][] {
  if (!gateway) return []
  const row = (name: string, { residentBytes, heapUsedBytes, eventLoopLagP99Seconds }: ProcessSample): string[] => [
    name,
    megabytes(residentBytes),
    megabytes(heapUsedBytes),
    lag(eventLoopLagP99Seconds),
  ]
  return [['gateway', 'memory', 'heap', 'event-loop lag p99'], row('start', gateway.start), row('end', gateway.end)]
}

function megabytes(bytes: number | null): string {
  return bytes === null ? '-' : `${Math.round(bytes / 1_048_576)} MB`
}
function lag(seconds: number | null): string {
  return seconds === null ? '-' : `${milliseconds(seconds * 1_000)} ms`
}

interface Judgement {
  name: string
  detail: string
  passed: boolean
  findings: readonly string[]
}

function judgements({ checks, verdicts }: ScenarioResult): Judgement[] {
  return [
    ...checks.map(({ name, checked, violations, findings }) => ({
      name,
      detail: violations === 0 ? checked : `${checked}; violations: ${violations}`,
      passed: violations === 0,
      findings,
    })),
    ...verdicts.map(({ name, limit, measured, passed }) => ({
      name,
      detail: `${measured}, ${limit}`,
      passed,
      findings: [],
    })),
  ]
}

function scenarioHtml(result: ScenarioResult): string[] {
  return [
    `<h2>${result.scenario}</h2><p>${rateLine(result)}</p>`,
    '<ul>',
    ...judgements(result).map(({ name, detail, passed, findings }) => {
      const verdict = passed ? 'ok' : '<span class="failed">FAILED</span>'
      const list = findings.map((finding) => `<li>${escapeMarkup(finding)}</li>`).join('')
      return `<li>${verdict} · ${escapeMarkup(`${name}: ${detail}`)}${list && `<ul>${list}</ul>`}</li>`
    }),
    ...result.notes.map((note) => `<li>${escapeMarkup(note)}</li>`),
    '</ul>',
    ...pictures(result),
    htmlTable(operationRows(result)),
    ...(result.gateway ? [htmlTable(gatewayRows(result))] : []),
  ]
}

function pictures({ scenario, figures }: ScenarioResult): string[] {
  return [
    lineChart({
      title: `${scenario}: latency over time`,
      unit: 'ms',
      xLabel: 'seconds since the start',
      series: [
        { name: 'p50', points: figures.intervals.map(({ second, p50 }) => [second, p50]) },
        { name: 'p99', points: figures.intervals.map(({ second, p99 }) => [second, p99]) },
      ],
    }),
    lineChart({
      title: `${scenario}: requests over time`,
      unit: 'per second',
      xLabel: 'seconds since the start',
      series: [
        {
          name: 'requests',
          points: figures.intervals.map(({ second, requests }) => [second, requests / figures.intervalSeconds]),
        },
        {
          name: 'errors',
          points: figures.intervals.map(({ second, errors }) => [second, errors / figures.intervalSeconds]),
        },
      ],
    }),
    lineChart({
      title: `${scenario}: latency by percentile`,
      unit: 'ms',
      xLabel: 'percent of the requests that are at least as fast',
      series: [
        {
          name: 'latency',
          points: figures.distribution.map(([percent, value]) => [percentilePosition(percent), value]),
        },
      ],
      ticks: [0, 50, 90, 99, 99.9, 99.99].map((percent) => [percentilePosition(percent), `${percent}`]),
    }),
    barChart(`${scenario}: p99 and outcomes`, [
      {
        title: 'p99',
        bars: figures.operations.map(({ operation, p99 }) => ({
          label: operation,
          value: p99,
          text: `${milliseconds(p99)} ms`,
          isOwn: true,
        })),
      },
      {
        title: 'outcomes',
        bars: Object.entries(figures.outcomes).map(([outcome, count]) => ({
          label: outcome,
          value: count,
          text: shortNumber(count),
          isOwn: outcome === '200',
        })),
      },
    ]),
  ]
}

/** Spreads the percentiles so that 90, 99 and 99.9 % have equal distances. */
function percentilePosition(percent: number): number {
  return -Math.log10(1 - Math.min(percent, 99.995) / 100)
}
