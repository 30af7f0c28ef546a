import { hash } from 'node:crypto'
import { type Instant, toIso } from '../../kernel/index.ts'
import { escapeHtml } from '../../platform/mail/index.ts'
import type { Decision } from '../observability/explain.ts'
import type { ProbeResult } from './probes.ts'

export interface IndexPageParts {
  version: string
  replica: string
  role: 'gateway' | 'domains'
  startedAt: Instant
  /** Pages of other listeners. */
  links: readonly Link[]
  /** The requests of this replica, newest first. */
  lastRequests(): readonly Decision[]
}

interface Link {
  href: string
  text: string
}

interface State {
  readiness: 'ready' | 'unready' | 'draining'
  checks: readonly ProbeResult[]
  /** Paths of this listener. */
  paths: readonly string[]
}

const style = `
:root { color-scheme: light dark; font: 0.9375rem/1.5 system-ui, sans-serif }
body { margin: 0 auto; max-width: 68rem; padding: 1rem; overflow-wrap: anywhere }
h1 { font-size: 1.375rem; margin: 0 }
h2 { font-size: 1.0625rem; margin: 1.75rem 0 0.5rem }
p, ul { margin: 0.25rem 0 }
ul { display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; list-style: none; padding: 0 }
.table { overflow-x: auto }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; width: 100% }
th, td { border-bottom: 1px solid color-mix(in srgb, currentcolor 20%, transparent); padding: 0.25rem 1rem 0.25rem 0; text-align: start }
th, td { white-space: nowrap }
.number { text-align: end }
.bad { color: light-dark(#a4110f, #ff9a94); font-weight: 600 }`

/** No script, and only this style. */
export const indexPolicy = [
  `default-src 'none'`,
  `style-src 'sha256-${hash('sha256', style, 'base64')}'`,
  `base-uri 'none'`,
  `form-action 'none'`,
  `frame-ancestors 'none'`,
].join('; ')

/** `/` of the operations listener: the health of this replica, its last requests, and links to the other pages. */
export function renderIndex(parts: IndexPageParts, { readiness, checks, paths }: State): string {
  const { version, replica, role, startedAt, links } = parts
  const requests = parts.lastRequests()
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>Portico ${escapeHtml(replica)}</title><style>${style}</style></head><body>`,
    `<header><h1>Portico ${escapeHtml(version)}</h1>`,
    `<p>${role === 'gateway' ? 'Gateway' : 'Domain service'} ${escapeHtml(replica)}, started ${time(startedAt)}</p></header>`,
    `<main><h2>Health: ${marked(readiness, readiness !== 'ready')}</h2><ul>${checks.map(checkItem).join('')}</ul>`,
    `<h2>Pages</h2><ul>${paths.map((href) => linkItem({ href, text: href })).join('')}${links.map(linkItem).join('')}</ul>`,
    '<h2>Last requests of this replica</h2>',
    requests.length === 0 ? '<p>No request yet.</p>' : requestTable(requests),
    '</main></body></html>',
  ].join('\n')
}

function checkItem({ name, state, reason }: ProbeResult): string {
  const why = reason === undefined ? '' : ` (${escapeHtml(reason)})`
  return `<li>${escapeHtml(name)}: ${marked(state, state !== 'ok')}${why}</li>`
}

function linkItem({ href, text }: Link): string {
  return `<li><a href="${escapeHtml(href)}">${escapeHtml(text)}</a></li>`
}

function requestTable(requests: readonly Decision[]): string {
  const names = ['Time (UTC)', 'Operation', 'Status', 'Code', 'ms', 'Request']
  const head = names.map((name) => `<th scope="col"${name === 'ms' ? ' class="number"' : ''}>${name}</th>`).join('')
  const rows = requests.map(requestRow).join('\n')
  return `<div class="table"><table><thead><tr>${head}</tr></thead><tbody>\n${rows}\n</tbody></table></div>`
}

function requestRow({ at, operation, status, code, ms, requestId }: Decision): string {
  const outcome = status === null ? 'abandoned' : marked(String(status), status >= 500)
  const cells = [
    `<td>${timeElement(at, toIso(at).slice(11, 19))}</td>`,
    `<td>${escapeHtml(operation ?? 'none')}</td>`,
    `<td>${outcome}</td>`,
    `<td>${escapeHtml(code ?? '')}</td>`,
    `<td class="number">${ms.toFixed(1)}</td>`,
    `<td><a href="/explain/${escapeHtml(encodeURIComponent(requestId))}">${escapeHtml(requestId)}</a></td>`,
  ]
  return `<tr>${cells.join('')}</tr>`
}

function time(at: Instant): string {
  return timeElement(at, `${toIso(at).slice(0, 19).replace('T', ' ')} UTC`)
}

function timeElement(at: Instant, text: string): string {
  return `<time datetime="${toIso(at)}">${text}</time>`
}

function marked(text: string, isBad: boolean): string {
  return isBad ? `<span class="bad">${escapeHtml(text)}</span>` : escapeHtml(text)
}
