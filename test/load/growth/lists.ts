import { writeFileSync } from 'node:fs'
import { openDatabase } from '../../../src/database/index.ts'
import { type Bar, barChart, framed, type LineChart, lineChart } from '../../../src/load/charts.ts'
import { costOf } from '../../growth/blocks.ts'
import { growStore } from '../../growth/large-store.ts'
import { lists } from '../../growth/lists.ts'
import { schemaOwners } from '../../harness/domains.ts'
import { startPostgres } from '../../harness/postgres.ts'
import { postgresTarget } from '../../harness/postgres-target.ts'

/** Numbers of accounts. Each account has six ledger entries. The smallest store is above the limit for exact totals. */
const scales = { small: [12_000, 36_000], medium: [12_000, 36_000, 100_000], large: [12_000, 100_000, 1_000_000] }
export type Scale = keyof typeof scales

export function scaleOf(text: string | undefined): Scale | null {
  if (text === undefined || text === 'small' || text === 'medium' || text === 'large') return text ?? null
  throw new TypeError(`no scale '${text}'; there are ${Object.keys(scales).join(', ')}`)
}

interface Measurement {
  list: string
  /** One value per size of the store. */
  blocks: number[]
  milliseconds: number[]
}

export interface Growth {
  accounts: number[]
  secondsToFill: number
  measurements: Measurement[]
}

function growthOf({ blocks }: Measurement): number {
  return (blocks.at(-1) ?? Number.NaN) / (blocks[0] ?? Number.NaN)
}

/** Measures each list on a PostgreSQL server that grows. */
export async function measureGrowth(scale: Scale, print: (text: string) => void): Promise<Growth> {
  // The statement of an autovacuum that still runs would keep the VACUUM of `growStore` from marking blocks as visible to
  // all, and the index-only scans of this run would read each row.
  const server = await startPostgres({ shared_buffers: '512MB', max_wal_size: '4GB', autovacuum: 'off' })
  if (!server) throw new Error('needs PostgreSQL')
  const store = await openDatabase({ ...postgresTarget(server.url), statementTimeoutMs: 3_600_000 })
  try {
    await store.migrate(schemaOwners)
    const measurements = lists.map(({ name }): Measurement => ({ list: name, blocks: [], milliseconds: [] }))
    let filled = 0
    let milliseconds = 0
    for (const accounts of scales[scale]) {
      const begun = performance.now()
      await growStore(store.database, { first: filled, last: accounts })
      milliseconds += performance.now() - begun
      filled = accounts + 1
      print(`${accounts} accounts after ${(milliseconds / 1_000).toFixed(0)} s`)
      for (const [place, { read }] of lists.entries()) {
        const cost = await costOf(store.database, read)
        measurements[place]?.blocks.push(cost.blocks)
        measurements[place]?.milliseconds.push(cost.milliseconds)
      }
    }
    return { accounts: scales[scale], secondsToFill: milliseconds / 1_000, measurements }
  } finally {
    await store.close()
    await server.stop()
  }
}

export function growthTable({ accounts, measurements }: Growth): string {
  const sizes = accounts.map((number) => number.toLocaleString('en'))
  const head = ['list', ...sizes.map((size) => `blocks at ${size}`), 'growth', ...sizes.map((size) => `ms at ${size}`)]
  const rows = measurements.map((measurement) => [
    measurement.list,
    ...measurement.blocks.map(String),
    growthOf(measurement).toFixed(2),
    ...measurement.milliseconds.map((value) => value.toFixed(1)),
  ])
  return [head, head.map((_, column) => (column === 0 ? '---' : '---:')), ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n')
}

function familyOf(list: string): string {
  return list.split(',')[0] ?? list
}
/** The chart has four colors. */
const drawn = ['flows of a wallet', 'transfers of a workspace', 'recharges of all workspaces', 'accounts']

function curves({ accounts, measurements }: Growth): LineChart {
  return {
    title: 'Blocks read by the costliest list of each kind',
    unit: 'blocks',
    xLabel: 'accounts in the store',
    series: drawn.map((family) => ({
      name: family.split(' ')[0] ?? family,
      points: accounts.map((number, size): [number, number] => [
        number,
        Math.max(
          ...measurements.filter(({ list }) => familyOf(list) === family).map(({ blocks }) => blocks[size] ?? 0),
        ),
      ]),
    })),
    ticks: accounts.map((number) => [number, number.toLocaleString('en')]),
  }
}

function factors(growth: Growth): string {
  const families = Map.groupBy(growth.measurements, ({ list }) => familyOf(list))
  const groups = [...families].map(([title, measurements]) => ({
    title,
    bars: measurements.map((measurement): Bar => {
      const value = growthOf(measurement)
      const label = measurement.list.slice(title.length + 2) || 'all'
      return { label, value, text: `${value.toFixed(2)} ×`, isOwn: value <= 1.5 }
    }),
  }))
  const sizes = [growth.accounts[0], growth.accounts.at(-1)].map((number) => (number ?? 0).toLocaleString('en'))
  return barChart(`Blocks read: a store with ${sizes[1]} accounts against one with ${sizes[0]}`, groups)
}

/** Writes two pictures: `NAME.svg` with the curves, and `NAME-factors.svg`. */
export function drawGrowth(growth: Growth, file: string): void {
  writeFileSync(file, framed(lineChart(curves(growth))))
  writeFileSync(file.replace(/(\.svg)?$/, '-factors.svg'), framed(factors(growth)))
}
