import { type BarGroup, barChart, escapeMarkup, framed, htmlPage } from '../../../src/load/charts.ts'
import type { Outcome } from './outcome.ts'
import { median } from './stats.ts'

function groups(outcomes: readonly Outcome[]): BarGroup[] {
  return outcomes
    .filter((outcome) => outcome.rows.length > 1)
    .map(({ scenario, rows }) => ({
      title: scenario,
      bars: rows.map(({ contender, unit, perSecond }) => {
        const value = median(perSecond)
        const text = `${Math.round(value).toLocaleString('en')} ${unit}/s`
        return { label: contender, value, text, isOwn: contender === 'portico' }
      }),
    }))
}

/** Draws an SVG bar chart with one group of bars per scenario. */
export function chart(outcomes: readonly Outcome[], caption: string): string {
  return framed(barChart(caption, groups(outcomes)))
}

/** Returns a page with the chart and the printed tables. */
export function page(outcomes: readonly Outcome[], caption: string, tables: string): string {
  return htmlPage('Benchmark', [barChart(caption, groups(outcomes)), `<pre>${escapeMarkup(tables)}</pre>`])
}
