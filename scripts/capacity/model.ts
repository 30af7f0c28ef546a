import { documented, type Kind, type Measured, type RequestCost } from './measured.ts'

/** Per account and day, unless the name says otherwise. `npm run capacity -- --help` describes each. */
export interface Assumptions {
  signIns: number
  orders: number
  reads: number
  proxied: number
  coldShare: number
  houseShare: number
  peak: number
  utilization: number
  years: number
  commitMs: number
  serverCores: number
  serverTerabytes: number
  serverConnections: number
}

export const defaults: Assumptions = {
  signIns: 0.3,
  orders: 0.2,
  reads: 4,
  proxied: 4,
  coldShare: 0.3,
  houseShare: 0.1,
  peak: 5,
  utilization: 0.5,
  years: 1,
  commitMs: 2,
  serverCores: 64,
  serverTerabytes: 16,
  serverConnections: 1_000,
}

/** Days for which rows are kept (docs/guides/postgresql.md, "Plan for growth"). Infinity: forever. */
const keptDays: Record<string, number> = {
  audit_log: Number.POSITIVE_INFINITY,
  orders: Number.POSITIVE_INFINITY,
  ledger_entries: Number.POSITIVE_INFINITY,
  login_history: Number.POSITIVE_INFINITY,
  events: 30,
  sessions: 31,
  refresh_tokens: 2,
  idempotency: 1,
  one_time_codes: 1,
  login_sessions: 1,
}

export interface Limit {
  name: string
  /** The number of accounts at which the limit is reached. Costs are proportional to the accounts. */
  accounts: number
  remedy: string
}

export interface Capacity {
  accounts: number
  requestsPerSecond: number
  ordersPerSecond: number
  signInsPerSecond: number
  gateways: number
  postgresCores: number
  /** After `years`, by how long rows are kept. */
  diskBytes: { accounts: number; kept: number; expiring: number }
  walBytesPerDay: number
  redisBytes: number
  redisCommandsPerSecond: number
  redisCores: number
  needsCluster: boolean
  auditRows: number
  entryRows: number
}

const daySeconds = 86_400
const smallestDeployment = 2
const billion = 1_000_000_000

type Rates = Record<Kind, number>

export function capacityOf(accounts: number, assumptions: Assumptions, measured: Measured): Capacity {
  const { peak, utilization, years, proxied, signIns } = assumptions
  const perDay = requestsPerDay(accounts, assumptions)
  const peakOf = (daily: number): number => (daily * peak) / daySeconds
  const peakRates = mapRates(perDay, peakOf)
  const proxiedRate = peakOf(accounts * proxied)
  const busy = (cost: (each: RequestCost) => number): number => sumOf(peakRates, measured, cost) / 1_000
  const gatewayCores = busy(({ gatewayMs }) => gatewayMs) + (proxiedRate * documented.proxiedMs) / 1_000
  const gateways = Math.max(smallestDeployment, Math.ceil(gatewayCores / utilization))
  const idleCores = (gateways * measured.idle.postgresMs) / 1_000
  const walPerDay = sumOf(perDay, measured, ({ walBytes }) => walBytes) + perDay.transfer * pageBytesPerOrder(measured)
  const redisCores = busy(({ redisMs }) => redisMs) + (proxiedRate * measured.requests.read.redisMs) / 1_000
  const requestRate = peakRates.read + peakRates.coldRead + peakRates.transfer + proxiedRate + 3 * peakRates.signIn
  const counters = Math.min(accounts, requestRate * assumptions.coldShare * 60)
  return {
    accounts,
    requestsPerSecond: requestRate,
    ordersPerSecond: peakRates.transfer,
    signInsPerSecond: peakRates.signIn,
    gateways,
    postgresCores: (busy(({ postgresMs }) => postgresMs) + idleCores) / utilization,
    diskBytes: diskOf(accounts, perDay, years, measured),
    walBytesPerDay: walPerDay,
    redisBytes:
      documented.redisBaseBytes +
      counters * measured.redisBytesPerAccount +
      accounts * signIns * documented.emailCounterBytes,
    redisCommandsPerSecond:
      sumOf(peakRates, measured, ({ redisCommands }) => redisCommands) +
      proxiedRate * measured.requests.read.redisCommands,
    redisCores,
    needsCluster: redisCores > utilization,
    auditRows: (perDay.transfer + perDay.signIn) * 365 * years,
    entryRows: perDay.transfer * 2 * 365 * years,
  }
}

/** The limits of a single server and of serial jobs, lowest number of accounts first. */
export function limitsOf(assumptions: Assumptions, measured: Measured): Limit[] {
  const { utilization, serverCores, serverTerabytes, serverConnections, houseShare, commitMs } = assumptions
  const accounts = 100_000_000
  const { postgresCores, diskBytes, auditRows, entryRows, gateways, ordersPerSecond, signInsPerSecond, redisCores } =
    capacityOf(accounts, assumptions, measured)
  const { transfer, signIn } = measured.requests
  const events =
    ordersPerSecond * (transfer.tables.events?.rows ?? 0) + signInsPerSecond * (signIn.tables.events?.rows ?? 0)
  const disk = diskBytes.accounts + diskBytes.kept + diskBytes.expiring
  const used: [name: string, share: number, remedy: string][] = [
    [`CPU of a PostgreSQL server with ${serverCores} cores`, postgresCores / serverCores, 'cells'],
    [`disk of a server with ${serverTerabytes} TB`, disk / (serverTerabytes * 1e12), 'archive partitions, then cells'],
    ['connections without PgBouncer', (gateways * documented.connectionsPerGateway) / serverConnections, 'PgBouncer'],
    ['commits on one house account', (ordersPerSecond * houseShare * commitMs) / 1_000 / utilization, 'cells'],
    ['event sequencer', events / documented.eventsPerSecond / utilization, 'cells'],
    [
      'sealing of the audit log',
      (ordersPerSecond + signInsPerSecond) / measured.sealedPerSecond / utilization,
      'cells',
    ],
    [
      'daily ledger check, half a day',
      (entryRows * measured.ledgerCheckMicrosPerEntry) / 1_000_000 / (daySeconds / 2),
      'archive partitions',
    ],
    ['one Redis server', redisCores / utilization, 'Redis Cluster'],
    ['a billion rows in the audit log', auditRows / billion, 'archive partitions'],
    ['a billion ledger entries', entryRows / billion, 'archive partitions'],
  ]
  return used
    .map(([name, share, remedy]) => ({ name, accounts: accounts / share, remedy }))
    .sort((one, other) => one.accounts - other.accounts)
}

export interface Comparison {
  name: string
  unit: string
  predicted: number
  measured: number
}

/** The mix that `npm run capacity:measure` runs on the larger store, predicted from the costs of single requests. */
export function compareWithCheck({ requests, idle, check }: Measured): Comparison[] {
  const { read, coldRead, transfer } = requests
  const { reads, transfers, seconds, total } = check
  // Every request is the first one of its session for more than a second, also a transfer.
  const perMix = (cost: (each: RequestCost) => number): number =>
    (reads * cost(coldRead) + transfers * (cost(transfer) + cost(coldRead) - cost(read))) / total.requests
  const idlePerRequest = (perSecond: number): number => (perSecond * seconds) / total.requests
  const bytesOf = (each: RequestCost, tables: readonly string[]): number =>
    tables.reduce((sum, table) => sum + (each.tables[table]?.bytes ?? 0), 0)
  const tables = Object.keys(transfer.tables)
  return [
    {
      name: 'gateway CPU per request',
      unit: 'ms',
      predicted: perMix(({ gatewayMs }) => gatewayMs) + idlePerRequest(idle.gatewayMs),
      measured: total.gatewayMs,
    },
    {
      name: 'PostgreSQL CPU per request',
      unit: 'ms',
      predicted: perMix(({ postgresMs }) => postgresMs) + idlePerRequest(idle.postgresMs),
      measured: total.postgresMs,
    },
    {
      name: 'Redis commands per request',
      unit: '',
      predicted: perMix(({ redisCommands }) => redisCommands),
      measured: total.redisCommands,
    },
    {
      name: 'WAL records per order',
      unit: 'KB',
      predicted: transfer.walBytes / 1_000,
      measured: (total.walBytes * total.requests) / transfers / 1_000,
    },
    {
      name: 'disk per order',
      unit: 'KB',
      predicted: bytesOf(transfer, tables) / 1_000,
      measured: (bytesOf(total, tables) * total.requests) / transfers / 1_000,
    },
  ]
}

/** After a checkpoint, as the check measured it. */
export function pageBytesPerOrder({ check }: Measured): number {
  return (check.total.walPageBytes * check.total.requests) / check.transfers
}

function requestsPerDay(accounts: number, { reads, orders, signIns, coldShare }: Assumptions): Rates {
  return {
    read: accounts * reads * (1 - coldShare),
    coldRead: accounts * reads * coldShare,
    transfer: accounts * orders,
    signIn: accounts * signIns,
  }
}

function mapRates({ read, coldRead, transfer, signIn }: Rates, change: (rate: number) => number): Rates {
  return { read: change(read), coldRead: change(coldRead), transfer: change(transfer), signIn: change(signIn) }
}

function sumOf(rates: Rates, { requests }: Measured, cost: (each: RequestCost) => number): number {
  return (
    rates.read * cost(requests.read) +
    rates.coldRead * cost(requests.coldRead) +
    rates.transfer * cost(requests.transfer) +
    rates.signIn * cost(requests.signIn)
  )
}

function diskOf(accounts: number, perDay: Rates, years: number, measured: Measured): Capacity['diskBytes'] {
  const perAccount = Object.values(measured.accountTables).reduce((sum, bytes) => sum + bytes, 0)
  const disk = { accounts: accounts * perAccount, kept: 0, expiring: 0 }
  for (const kind of ['transfer', 'signIn'] as const)
    for (const [table, { bytes }] of Object.entries(measured.requests[kind].tables)) {
      const days = keptDays[table]
      if (days === undefined) throw new RangeError(`how long are rows of ${table} kept?`)
      if (days === Number.POSITIVE_INFINITY) disk.kept += perDay[kind] * bytes * 365 * years
      else disk.expiring += perDay[kind] * bytes * Math.min(days, 365 * years)
    }
  return disk
}
