import { documented, type Measured } from './measured.ts'
import { type Assumptions, capacityOf, compareWithCheck, limitsOf, pageBytesPerOrder } from './model.ts'

/** One table per title. docs/scale.md contains them, and a test compares. */
export interface Table {
  title: string
  markdown: string
}

export function capacityTables(accounts: readonly number[], assumptions: Assumptions, measured: Measured): Table[] {
  return [
    { title: 'Costs', markdown: costTable(measured) },
    { title: 'Capacity', markdown: sizeTable(accounts, assumptions, measured) },
    { title: 'Limits', markdown: limitTable(assumptions, measured) },
    { title: 'Check', markdown: checkTable(measured) },
  ]
}

function costTable(measured: Measured): string {
  const names = { read: 'read', coldRead: 'first read of a session', transfer: 'transfer', signIn: 'sign-in' }
  const rows = (['read', 'coldRead', 'transfer', 'signIn'] as const).map((kind) => {
    const { gatewayMs, postgresMs, redisMs, redisCommands, walBytes, tables } = measured.requests[kind]
    const bytes = Object.values(tables).reduce((sum, each) => sum + each.bytes, 0)
    const counts = [number(redisCommands), kilobytes(walBytes), kilobytes(bytes)]
    return [names[kind], number(gatewayMs), number(postgresMs), number(redisMs), ...counts]
  })
  const proxied = ['proxied GET', number(documented.proxiedMs), '0', number(measured.requests.read.redisMs)]
  return table(
    ['request', 'gateway ms', 'PostgreSQL ms', 'Redis ms', 'Redis commands', 'WAL KB', 'rows KB'],
    [...rows, [...proxied, number(measured.requests.read.redisCommands), '0', '0']],
  )
}

function sizeTable(sizes: readonly number[], assumptions: Assumptions, measured: Measured): string {
  const all = sizes.map((accounts) => capacityOf(accounts, assumptions, measured))
  const row = (name: string, value: (each: (typeof all)[number]) => string): string[] => [name, ...all.map(value)]
  return table(
    ['accounts', ...sizes.map(number)],
    [
      row('requests per second at the peak', (each) => number(each.requestsPerSecond)),
      row('orders per second at the peak', (each) => number(each.ordersPerSecond)),
      row('sign-ins per second at the peak', (each) => number(each.signInsPerSecond)),
      row('gateway processes', (each) => number(each.gateways)),
      row('connections to PostgreSQL', (each) => number(each.gateways * documented.connectionsPerGateway)),
      row('PostgreSQL cores', (each) => number(Math.max(2, Math.ceil(each.postgresCores)))),
      row('disk: accounts', (each) => size(each.diskBytes.accounts)),
      row('disk: rows that expire', (each) => size(each.diskBytes.expiring)),
      row(`disk: rows that stay, ${years(assumptions)}`, (each) => size(each.diskBytes.kept)),
      row('WAL per day', (each) => size(each.walBytesPerDay)),
      row('Redis memory', (each) => size(each.redisBytes)),
      row('Redis commands per second', (each) => number(each.redisCommandsPerSecond)),
      row('Redis Cluster', (each) => (each.needsCluster ? 'yes' : 'no')),
      row(`audit entries, ${years(assumptions)}`, (each) => number(each.auditRows)),
      row(`ledger entries, ${years(assumptions)}`, (each) => number(each.entryRows)),
    ],
  )
}

function limitTable(assumptions: Assumptions, measured: Measured): string {
  const rows = limitsOf(assumptions, measured).map(({ name, accounts, remedy }) => [name, number(accounts), remedy])
  return table(['limit', 'accounts', 'remedy'], rows)
}

function checkTable(measured: Measured): string {
  const rows = compareWithCheck(measured).map(({ name, unit, predicted, measured: found }) => [
    unit === '' ? name : `${name}, ${unit}`,
    number(predicted),
    number(found),
    (found / predicted).toFixed(2),
  ])
  const page = ['pages in the WAL per order, KB', '', number(pageBytesPerOrder(measured) / 1_000), '']
  return table(['figure', 'predicted', 'measured', 'ratio'], [...rows, page])
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`.replaceAll('|  |', '| |')
  return [
    line(head),
    line(head.map((name, index) => (index === 0 || name === 'remedy' ? '---' : '---:'))),
    ...rows.map(line),
  ].join('\n')
}

/** With two or three digits that count. */
function number(value: number): string {
  const digits = Number.isInteger(value) ? 0 : Math.max(0, 1 - Math.floor(Math.log10(Math.abs(value))))
  const rounded = digits > 0 ? value.toFixed(Math.min(digits, 3)) : Number(value.toPrecision(3)).toFixed(0)
  return rounded.replace(/\B(?=(\d{3})+(?!\d)(?<!\.\d*))/g, ',')
}

function kilobytes(bytes: number): string {
  return bytes < 50 ? '0' : number(bytes / 1_000)
}

function size(bytes: number): string {
  const units = ['KB', 'MB', 'GB', 'TB', 'PB']
  const power = Math.min(units.length, Math.max(1, Math.floor(Math.log10(bytes) / 3)))
  return `${number(bytes / 1_000 ** power)} ${units[power - 1]}`
}

function years({ years: count }: Assumptions): string {
  return count === 1 ? 'a year' : `${count} years`
}
