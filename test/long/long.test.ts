import { expect, test } from 'vitest'
import { needs } from '../harness/needs.ts'
import { startDeployment } from './deployment.ts'
import { runLong } from './run.ts'

const hour = 3_600_000
const seed = Number(process.env.PORTICO_LONG_SEED ?? Math.floor(Math.random() * 2 ** 31))
const orders = Number(process.env.PORTICO_LONG_ORDERS ?? 1_000_000)
// About one fault per minute.
const faults = Math.max(9, Math.round(orders / 10_000))
const deployment = await startDeployment(3_000)

test(`${orders} orders against ${faults} faults: each exactly once, balances as predicted (seed ${seed})`, {
  ...needs(deployment, 'PostgreSQL or Redis is not installed'),
  timeout: 12 * hour,
}, async () => {
  if (!deployment) throw new Error('unreachable')
  const report = (line: string) => process.stdout.write(`${new Date().toISOString()} ${line}\n`)
  report(`seed ${seed}`)
  try {
    await runLong(deployment, { seed, orders, faults, clients: 32, places: 64, report })
  } finally {
    await deployment.stop()
  }
  expect(deployment.gateways.map(({ process: running }) => running)).toEqual([undefined, undefined])
})
