/*
 * Prints what a deployment needs: `npm run capacity -- --accounts 1000000 --orders 0.5`. docs/scale.md explains the
 * model. scripts/capacity/measured.json holds the measured costs.
 */
import { argv, stderr, stdout } from 'node:process'
import { parseArgs } from 'node:util'
import measured from './capacity/measured.json' with { type: 'json' }
import { type Assumptions, defaults } from './capacity/model.ts'
import { capacityTables } from './capacity/tables.ts'

export const documentedAccounts = [10_000, 1_000_000, 100_000_000]

/** Also the text of `--help`. */
export const options: Record<keyof Assumptions, readonly [name: string, description: string]> = {
  signIns: ['sign-ins', 'sign-ins per account and day'],
  orders: ['orders', 'orders per account and day'],
  reads: ['reads', 'reads in process per account and day'],
  proxied: ['proxied', 'requests to services behind Portico per account and day'],
  coldShare: ['cold-share', 'share of reads that are the first of their session for a second on a gateway'],
  houseShare: ['house-share', 'share of orders that change one house account: recharges, payouts, fees, exchanges'],
  peak: ['peak', 'rate at the peak, divided by the average of a day'],
  utilization: ['utilization', 'share of a core that the peak may use'],
  years: ['years', 'years of kept rows'],
  commitMs: ['commit-ms', 'time of a commit, with its synchronous standby, in milliseconds'],
  serverCores: ['server-cores', 'cores of the largest PostgreSQL server'],
  serverTerabytes: ['server-terabytes', 'disk of the largest PostgreSQL server'],
  serverConnections: ['server-connections', 'connections that PostgreSQL accepts'],
}

/** Throws a TypeError for an unknown option, or a value that is not a positive number. */
export function readCapacityOptions(args: readonly string[]): { accounts: number[]; assumptions: Assumptions } {
  const { values } = parseArgs({
    args: [...args],
    options: {
      accounts: { type: 'string', multiple: true },
      ...Object.fromEntries(Object.values(options).map(([name]) => [name, { type: 'string' as const }])),
    },
  })
  const given: Record<string, unknown> = values
  const assumptions = { ...defaults }
  for (const key of Object.keys(options).filter(isAssumption)) {
    const text = given[options[key][0]]
    if (typeof text === 'string') assumptions[key] = positive(text)
  }
  return { accounts: values.accounts?.map(positive) ?? documentedAccounts, assumptions }
}

if (import.meta.main)
  try {
    if (argv.includes('--help')) stdout.write(usage())
    else {
      const { accounts, assumptions } = readCapacityOptions(argv.slice(2))
      for (const { title, markdown } of capacityTables(accounts, assumptions, measured))
        stdout.write(`${title}\n\n${markdown}\n\n`)
    }
  } catch (error) {
    stderr.write(`capacity: ${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = 2
  }

function isAssumption(name: string): name is keyof Assumptions {
  return name in options
}

function positive(text: string): number {
  const value = Number(text)
  if (!(value > 0 && value < Number.POSITIVE_INFINITY)) throw new TypeError(`'${text}' is not a positive number`)
  return value
}

function usage(): string {
  const lines = Object.entries(options).map(
    ([key, [name, text]]) => `  --${name.padEnd(20)} ${text} (${isAssumption(key) ? defaults[key] : ''})`,
  )
  return `npm run capacity -- [options]\n\n  --accounts             may be given several times\n${lines.join('\n')}\n`
}
