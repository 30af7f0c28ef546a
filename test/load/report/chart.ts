import type { Outcome, Row } from './outcome.ts'
import { median } from './stats.ts'

const width = 760
const left = 250
const bar = 16
const gap = 5

const escaped = (text: string): string => text.replace(/[<>&"]/g, (char) => `&#${char.charCodeAt(0)};`)

const text = (x: number, y: number, words: string, more = ''): string =>
  `<text x="${x}" y="${y}" ${more}>${escaped(words)}</text>`

const barOf = (row: Row, maximum: number, y: number): string => {
  const value = median(row.perSecond)
  const length = Math.max(1, ((width - left - 130) * value) / maximum)
  const fill = row.contender === 'portico' ? '#0b7a75' : '#b8c4ce'
  const reported = `${Math.round(value).toLocaleString('en')} ${row.unit}/s`
  return [
    text(left - 8, y + 12, row.contender, 'text-anchor="end"'),
    `<rect x="${left}" y="${y}" width="${length.toFixed(1)}" height="${bar}" rx="2" fill="${fill}"/>`,
    text(left + length + 6, y + 12, reported),
  ].join('')
}

/** Draws an SVG bar chart with one group of bars per scenario. */
export const chart = (outcomes: readonly Outcome[], caption: string): string => {
  const parts: string[] = []
  let y = 46
  for (const { scenario, rows } of outcomes.filter((outcome) => outcome.rows.length > 1)) {
    parts.push(text(12, y + 12, scenario, 'font-weight="600"'))
    const maximum = Math.max(...rows.map((row) => median(row.perSecond)))
    for (const row of rows) {
      parts.push(barOf(row, maximum, y))
      y += bar + gap
    }
    y += 14
  }
  const frame = `xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${y}" font-family="system-ui, sans-serif" font-size="12"`
  const paper = `<rect width="${width}" height="${y}" fill="#ffffff"/>`
  return `<svg ${frame}>${paper}${text(12, 24, caption, 'font-size="13"')}${parts.join('\n')}</svg>\n`
}
