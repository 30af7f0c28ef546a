/*
 * Pictures as SVG text, for the reports of `portico load` and of the benchmark. Colors follow the page (`currentColor`)
 * where the page is known; `framed` adds a white background for files that are opened alone.
 */

export function escapeMarkup(text: string): string {
  return text.replace(/[<>&"]/g, (char) => `&#${char.charCodeAt(0)};`)
}

const palette = ['#0b7a75', '#c2571a', '#5b6abf', '#a33a6b']

/** Returns three significant digits, with separators for thousands. */
export function shortNumber(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString('en')
  return String(Number(value.toPrecision(3)))
}

export interface Bar {
  label: string
  value: number
  /** The value with its unit. */
  text: string
  isOwn: boolean
}

export interface BarGroup {
  title: string
  bars: readonly Bar[]
}

const barHeight = 16
const barGap = 5

/** Draws horizontal bars. The bars of each group share a scale. */
export function barChart(title: string, groups: readonly BarGroup[]): string {
  const [width, left, right] = [760, 250, 130]
  const parts = [textAt(12, 24, title, 'font-size="13"')]
  let y = 46
  for (const { title: groupTitle, bars } of groups) {
    parts.push(textAt(12, y + 12, groupTitle, 'font-weight="600"'))
    const maximum = Math.max(...bars.map(({ value }) => value), Number.MIN_VALUE)
    for (const { label, value, text, isOwn } of bars) {
      const length = Math.max(1, ((width - left - right) * value) / maximum)
      const fill = isOwn ? palette[0] : '#b8c4ce'
      parts.push(
        textAt(left - 8, y + 12, label, 'text-anchor="end"'),
        `<rect x="${left}" y="${y}" width="${length.toFixed(1)}" height="${barHeight}" rx="2" fill="${fill}"/>`,
        textAt(left + length + 6, y + 12, text),
      )
      y += barHeight + barGap
    }
    y += 14
  }
  return svg(width, y, title, parts)
}

export interface Series {
  name: string
  points: readonly (readonly [x: number, y: number])[]
}

export interface LineChart {
  title: string
  unit: string
  xLabel: string
  series: readonly Series[]
  /** Positions and labels of the horizontal axis. Default: its first and last value. */
  ticks?: readonly (readonly [x: number, label: string])[]
}

/** Draws lines over a horizontal axis that starts at its first value, and a vertical axis that starts at zero. */
export function lineChart({ title, unit, xLabel, series, ticks }: LineChart): string {
  const [width, height, left, right, top, bottom] = [760, 260, 60, 20, 54, 40]
  const xs = series.flatMap(({ points }) => points.map(([x]) => x))
  const [first, last] = [Math.min(...xs, Number.POSITIVE_INFINITY), Math.max(...xs, Number.NEGATIVE_INFINITY)]
  const maximum = niceAbove(Math.max(...series.flatMap(({ points }) => points.map(([, y]) => y)), 0))
  const toX = (x: number): number =>
    last > first ? left + ((x - first) / (last - first)) * (width - left - right) : (left + width - right) / 2
  const toY = (y: number): number => height - bottom - (y / maximum) * (height - top - bottom)
  const parts = [textAt(12, 20, title, 'font-size="13" font-weight="600"')]
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    const y = toY(maximum * share)
    parts.push(
      `<line x1="${left}" x2="${width - right}" y1="${y}" y2="${y}" stroke="currentColor" stroke-opacity="0.15"/>`,
      textAt(left - 6, y + 4, shortNumber(maximum * share), 'text-anchor="end" font-size="11"'),
    )
  }
  if (xs.length > 0)
    for (const [x, label] of ticks ?? [first, last].map((x) => [x, shortNumber(x)] as const))
      parts.push(textAt(toX(x), height - bottom + 16, label, 'text-anchor="middle" font-size="11"'))
  parts.push(textAt((left + width - right) / 2, height - 8, xLabel, 'text-anchor="middle" font-size="11"'))
  for (const [index, { name, points }] of series.entries()) {
    const color = palette[index % palette.length]
    const path = points.map(([x, y]) => `${toX(x).toFixed(1)},${toY(y).toFixed(1)}`).join(' ')
    parts.push(
      `<polyline points="${path}" fill="none" stroke="${color}" stroke-width="2"/>`,
      ...points.map(([x, y]) => `<circle cx="${toX(x).toFixed(1)}" cy="${toY(y).toFixed(1)}" r="2" fill="${color}"/>`),
      `<rect x="${left + index * 180}" y="31" width="10" height="10" fill="${color}"/>`,
      textAt(left + index * 180 + 15, 40, `${name} (${unit})`),
    )
  }
  return svg(width, height, title, parts)
}

/** Adds a white background, for a picture in a separate file. */
export function framed(picture: string): string {
  return picture.replace(/(<svg [^>]*>)/, '$1<rect width="100%" height="100%" fill="#ffffff"/>')
}

const style = [
  ':root{color-scheme:light dark}',
  'body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}',
  'svg{width:100%;height:auto;margin:1rem 0}',
  'table{border-collapse:collapse;width:100%;margin:1rem 0}',
  'td,th{padding:.3rem .6rem;border-bottom:1px solid #8884;text-align:right}',
  'td:first-child,th:first-child{text-align:left}',
  '.failed{color:#c0392b;font-weight:600}',
].join('')

/** Returns a page without scripts that loads nothing from the network. */
export function htmlPage(title: string, body: readonly string[]): string {
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<meta http-equiv="content-security-policy" content="default-src 'none'; style-src 'unsafe-inline'">`,
    `<title>${escapeMarkup(title)}</title><style>${style}</style></head><body><h1>${escapeMarkup(title)}</h1>`,
    ...body,
    '</body></html>\n',
  ].join('\n')
}

/** Returns a table. The first row has the headings. */
export function htmlTable([heads = [], ...rows]: readonly (readonly string[])[]): string {
  const cells = (tag: 'td' | 'th', row: readonly string[]): string =>
    `<tr>${row.map((cell) => `<${tag}>${escapeMarkup(cell)}</${tag}>`).join('')}</tr>`
  return `<table><thead>${cells('th', heads)}</thead><tbody>${rows.map((row) => cells('td', row)).join('')}</tbody></table>`
}

function textAt(x: number, y: number, words: string, attributes = ''): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" fill="currentColor" ${attributes}>${escapeMarkup(words)}</text>`
}

function svg(width: number, height: number, title: string, parts: readonly string[]): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${Math.ceil(height)}" role="img" aria-label="${escapeMarkup(title)}" font-family="system-ui, sans-serif" font-size="12">${parts.join('\n')}</svg>\n`
}

/** Returns the smallest of 1, 2, 5, 10, 20, ... that is not below a value. */
function niceAbove(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1e-3)))
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value) ?? value
}
